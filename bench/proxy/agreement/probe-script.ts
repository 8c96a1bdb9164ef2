/**
 * A program that asks every target many times from where it runs, and prints what it got as JSON: counts
 * by answer, in the order of the targets. Answers are `pod client-address`, `refused` (an ICMP error or a
 * reset) and `none`. Arguments: a file with targets as JSON, how often each is asked, the first UDP port.
 */
export const PROBE_SCRIPT = `
const net = require("net"), dgram = require("dgram"), fs = require("fs");
const [file, times, firstPort] = process.argv.slice(2);
const targets = JSON.parse(fs.readFileSync(file, "utf8"));
const TIMEOUT_MS = 4000;
const nameOf = (error) => /REFUSED|RESET/.test(error.code) ? "refused" : /UNREACH/.test(error.code) ? "unreachable" : error.code;
const tcp = ({ host, port }, tries = 3) => new Promise((resolve) => {
  let text = "";
  let isConnected = false;
  const socket = net.connect({ host, port }, () => { isConnected = true; socket.write("GET / HTTP/1.0\\r\\n\\r\\n"); });
  const end = (answer) => { clearTimeout(timer); socket.destroy(); resolve(answer); };
  const timer = setTimeout(end, TIMEOUT_MS, "none");
  socket.on("data", (data) => { text += data; })
    // A proxy refuses the first packet; a later reset is the server's, which may be out of places.
    .on("error", (error) => isConnected && tries > 1 ? end(tcp({ host, port }, tries - 1)) : end(nameOf(error)))
    .on("end", () => end(text.split("\\r\\n\\r\\n")[1] || "empty"));
});
const udp = ({ host, port, from }) => new Promise((resolve) => {
  const socket = dgram.createSocket("udp4");
  const end = (answer) => { clearTimeout(timer); try { socket.close(); } catch {} resolve(answer); };
  const timer = setTimeout(end, TIMEOUT_MS, "none");
  socket.on("message", (data) => end(String(data))).on("error", (error) => end(nameOf(error)));
  socket.bind(from, () => socket.connect(port, host, (error) => error ? end(nameOf(error)) : socket.send("x")));
});
const results = targets.map(() => ({}));
let next = 0;
const worker = async () => {
  for (let at = next++; at < targets.length; at = next++) {
    const target = targets[at];
    const isUdp = target.protocol === "udp";
    // A UDP client keeps its port: its flow must not stay with an endpoint that is gone. A packet that is
    // lost on a busy machine says nothing about that.
    let kept = isUdp ? "none" : "";
    for (let i = 0; i < 3 && kept === "none"; i++) kept = await udp({ ...target, from: Number(firstPort) + at });
    for (let i = 0; i < Number(times); i++) {
      const answer = isUdp ? await udp({ ...target, from: 0 }) : await tcp(target);
      results[at][answer] = (results[at][answer] || 0) + 1;
      if (answer === "none" && i > 0) break;
      if (i > 6 && Object.keys(results[at]).length > 1) break;
    }
    if (isUdp && !(kept in results[at])) results[at]["kept " + kept] = 1;
  }
};
Promise.all(Array.from({ length: 48 }, worker)).then(() => { console.log(JSON.stringify(results)); process.exit(); });
`;
