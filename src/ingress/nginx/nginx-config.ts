/**
 * The configuration of nginx. It is written once: routes, endpoints and certificates come over a Unix socket
 * into memory that the workers share, so nothing ever needs a reload. Pure.
 */
import { NGINX_LUA } from "./nginx-lua.ts";

export interface NginxConfig {
  /** Where sockets, certificates and temporary files lie. */
  readonly dir: string;
  readonly addresses: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** The ports that clients see. */
  readonly publicPorts: { readonly http: number; readonly https: number };
  /** The built-in data plane on loopback. */
  readonly builtIn: { readonly httpPort: number; readonly httpsPort: number };
  readonly workers: number;
  readonly connectionsMax: number;
  readonly drainMs: number;
  readonly accessLog: boolean;
}

const MODULES = "/usr/lib/nginx/modules";
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

export function nginxConfig(config: NginxConfig): string {
  const { dir, addresses, httpPort, httpsPort, publicPorts, builtIn } = config;
  const bracketed = addresses.map((each) => (each.includes(":") ? `[${each}]` : each));
  const listeners = bracketed.flatMap((address) => [
    `listen ${address}:${httpPort} backlog=4096;`,
    `listen ${address}:${httpsPort} ssl http2 backlog=4096;`,
  ]);
  return `load_module ${MODULES}/ndk_http_module.so;
load_module ${MODULES}/ngx_http_lua_module.so;
daemon off;
worker_processes ${config.workers};
worker_shutdown_timeout ${Math.ceil(config.drainMs / 1000)}s;
pid ${dir}/nginx.pid;
error_log stderr crit;
events { worker_connections ${config.connectionsMax}; }
http {
  ${TEMPORARY.map((name) => `${name}_temp_path ${dir}/${name};`).join(" ")}
  log_format access escape=json '{"time":"$time_iso8601","client":"$remote_addr","protocol":"$server_protocol","method":"$request_method","host":"$host","path":"$uri","status":$status,"bytes":$body_bytes_sent,"duration":$request_time,"service":"$k8ts_backend","upstream":"$upstream_addr"}';
  access_log ${config.accessLog ? "/dev/stdout access" : "off"};
  server_tokens off;
  client_header_timeout 15s;
  large_client_header_buffers 4 16k;
  keepalive_timeout 75s;
  keepalive_requests 100000;
  http2_max_concurrent_streams 100;
  ignore_invalid_headers on;
  client_max_body_size 0;
  lua_shared_dict k8ts 128m;
  lua_shared_dict k8ts_counts 16m;
  uninitialized_variable_warn off;
  init_by_lua_block { k8ts = (function() ${NGINX_LUA} end)() }
  upstream endpoints {
    server 0.0.0.1;
    balancer_by_lua_block { k8ts.balance() }
    keepalive 256;
    keepalive_requests 100000;
  }
  upstream builtin { server 127.0.0.1:${builtIn.httpPort}; keepalive 32; }
  upstream builtin_tls { server 127.0.0.1:${builtIn.httpsPort}; keepalive 32; }
  map $scheme $builtin { http http://builtin; https https://builtin_tls; }
  map $scheme $builtin_grpc { http grpc://builtin; https grpcs://builtin_tls; }
  map $scheme $public_port { http ${publicPorts.http}; https ${publicPorts.https}; }
  map $http_upgrade $connection_header { default upgrade; "" ""; }
  proxy_http_version 1.1;
  proxy_buffering off;
  proxy_request_buffering off;
  proxy_ssl_server_name on;
  proxy_ssl_name $host;
  server {
    ${listeners.join("\n    ")}
    ssl_certificate ${dir}/default.crt;
    ssl_certificate_key ${dir}/default.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_certificate_by_lua_block { k8ts.certificate() }
    set $k8ts_backend "";
    location / {
      access_by_lua_block { k8ts.route() }
      log_by_lua_block { k8ts.count() }
      proxy_pass http://endpoints;
      proxy_next_upstream error;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Port $public_port;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Scheme "";
      proxy_set_header Forwarded "";
    }
    location @builtin {
      access_log off;
      proxy_pass $builtin;
      proxy_read_timeout 1d;
      proxy_send_timeout 1d;
      proxy_set_header Host $http_host;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_header;
    }
    location @grpc {
      access_log off;
      grpc_pass $builtin_grpc;
      grpc_read_timeout 1d;
      grpc_send_timeout 1d;
      grpc_set_header Host $http_host;
      grpc_set_header X-Real-IP $remote_addr;
    }
  }
  server {
    listen unix:${dir}/control.sock;
    access_log off;
    client_body_buffer_size 96m;
    location / { content_by_lua_block { k8ts.control() } }
  }
}
`;
}
