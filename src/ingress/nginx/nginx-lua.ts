/**
 * What nginx' workers run: they find the route of a request as `RoutingTable` does, and pick endpoints in turn.
 * What a worker knows is decoded again when the version in the shared memory has changed.
 */
export const NGINX_LUA = `
local cjson = require "cjson.safe"
local shared = ngx.shared.k8ts
local state = { version = -1 }
local certs = { version = -1 }
local turns = {}

local function current()
  local version = shared:get("routes-version") or 0
  if version ~= state.version then
    local read = cjson.decode(shared:get("routes") or "") or { hosts = {}, routes = {}, backends = {}, defaultRoute = 0 }
    read.version = version
    state = read
    turns = {}
  end
  return state
end

local function prefix(rules, path)
  local found = rules.prefixes[""]
  local at = 1
  for _ = 1, rules.depth do
    local slash = path:find("/", at + 1, true)
    local number = rules.prefixes[path:sub(1, slash and slash - 1 or #path)]
    if number then found = number end
    if not slash then break end
    at = slash
  end
  return found
end

-- Nil: the built-in data plane decides.
local function find(known, host, path)
  local dot = host:find(".", 2, true)
  local fallback = 0
  for _, key in ipairs({ host, dot and "*" .. host:sub(dot) or false, "" }) do
    local rules = key and known.hosts[key]
    if rules then
      if rules.builtIn then return nil end
      local number = rules.exact[path] or prefix(rules, path)
      if number then return known.routes[number] end
      if fallback == 0 then fallback = rules.defaultRoute end
    end
  end
  return known.routes[fallback ~= 0 and fallback or known.defaultRoute]
end

-- Headers that the client names in Connection are for this connection only.
local function dropConnectionHeaders(names)
  for name in names:gmatch("[^,%s]+") do
    local lower = name:lower()
    if lower ~= "close" and lower ~= "keep-alive" and lower ~= "upgrade" and lower ~= "host" then
      ngx.req.clear_header(name)
    end
  end
end

local function route()
  local var = ngx.var
  local named = var.http_connection
  if named and named ~= "keep-alive" and named ~= "close" then dropConnectionHeaders(named) end
  local kind = var.content_type
  if kind and kind:sub(1, 16) == "application/grpc" then return ngx.exec("@grpc") end
  local uri, host = var.request_uri, var.http_host
  if not host or var.http_upgrade or uri:byte(1) ~= 47 then return ngx.exec("@builtin") end
  local query = uri:find("?", 1, true)
  local path = query and uri:sub(1, query - 1) or uri
  if path:find("/.", 1, true) or path:find("/%2", 1, true) then return ngx.exec("@builtin") end
  host = host:lower():gsub(":%d*$", ""):gsub("%.$", "")
  local known = current()
  local found = find(known, host, path)
  if not found or found.builtIn or (found.redirects and var.scheme == "http") then return ngx.exec("@builtin") end
  local length = tonumber(var.http_content_length)
  local limit = found.bodyBytesMax
  if limit > 0 and ((length and length > limit) or var.http_transfer_encoding) then return ngx.exec("@builtin") end
  local peers = known.backends[found.backend]
  if not peers or #peers == 0 then return ngx.exec("@builtin") end
  local ctx = ngx.ctx
  ctx.route, ctx.peers = found, peers
  var.k8ts_backend = found.backend
end

local function balance()
  local balancer = require "ngx.balancer"
  local ctx = ngx.ctx
  local peers, found = ctx.peers, ctx.route
  if not ctx.tried then
    ctx.tried = true
    if #peers > 1 then balancer.set_more_tries(math.min(2, #peers - 1)) end
    balancer.set_timeouts(found.connectSeconds, found.readSeconds, found.readSeconds)
  end
  local turn = (turns[found.backend] or 0) % #peers + 1
  turns[found.backend] = turn
  local peer = peers[turn]
  balancer.set_current_peer(peer[1], peer[2])
end

local function certificate()
  local ssl = require "ngx.ssl"
  local name = ssl.server_name()
  if not name then return end
  local version = shared:get("certs-version") or 0
  if version ~= certs.version then
    certs = { version = version, pairs = cjson.decode(shared:get("certs") or "") or {} }
  end
  name = name:lower()
  local dot = name:find(".", 2, true)
  local pair = certs.pairs[name] or (dot and certs.pairs["*" .. name:sub(dot)]) or certs.pairs[""]
  if not pair then return end
  if not pair.parsedCert then
    pair.parsedCert = ssl.parse_pem_cert(pair.cert)
    pair.parsedKey = ssl.parse_pem_priv_key(pair.key)
  end
  if not pair.parsedCert or not pair.parsedKey then return end
  ssl.clear_certs()
  ssl.set_cert(pair.parsedCert)
  ssl.set_priv_key(pair.parsedKey)
end

local function count()
  local found = ngx.ctx.route
  if found then ngx.shared.k8ts_counts:incr(found.name .. " " .. ngx.status, 1, 0) end
end

-- GET /counts: requests since the last time, by route and status.
local function takeCounts()
  local counts = ngx.shared.k8ts_counts
  local taken = {}
  for _, key in ipairs(counts:get_keys(0)) do
    local value = counts:get(key)
    if value and value > 0 then
      counts:incr(key, -value)
      taken[key] = value
    end
  end
  ngx.say(cjson.encode(taken))
end

-- POST /routes and /certs: the body is what the workers know from now on.
local function control()
  local name = ngx.var.uri:sub(2)
  if name == "counts" then return takeCounts() end
  if ngx.req.get_method() ~= "POST" or (name ~= "routes" and name ~= "certs") then return ngx.exit(404) end
  ngx.req.read_body()
  local stored, problem = shared:set(name, ngx.req.get_body_data() or "")
  if not stored then
    ngx.status = 507
    return ngx.say(problem)
  end
  shared:incr(name .. "-version", 1, 0)
  ngx.say("ok")
end

return { route = route, count = count, balance = balance, certificate = certificate, control = control }
`;
