/**
 * SCTP packets without SCTP sockets, which many kernels lack: an INIT chunk from a raw socket, and a raw
 * socket that prints where such a packet came from and to which port. Perl is part of every Debian.
 */

/** Arguments: address and port. */
export const SEND_INIT = `
use Socket;
my ($host, $port) = @ARGV;
sub crc32c { my $crc = 0xffffffff;
  for my $byte (unpack "C*", $_[0]) { $crc ^= $byte; for (1..8) { $crc = ($crc & 1) ? ($crc >> 1) ^ 0x82f63b78 : $crc >> 1; } }
  return $crc ^ 0xffffffff; }
my $chunk = pack "CCnNNnnN", 1, 0, 20, 1 + int rand 0xffffffff, 65536, 1, 1, 1;
my $packet = pack("nnNN", 40000 + int rand 9999, $port, 0, 0) . $chunk;
substr($packet, 8, 4) = pack "V", crc32c($packet);
socket(my $raw, PF_INET, SOCK_RAW, 132) or die $!;
send($raw, $packet, 0, sockaddr_in(0, inet_aton($host))) or die $!;
`;

/** Prints \`address port\` of the first INIT, or nothing after some seconds. Argument: the seconds. */
export const RECEIVE_INIT = `
use Socket;
alarm $ARGV[0];
$SIG{ALRM} = sub { exit 0 };
$| = 1;
socket(my $raw, PF_INET, SOCK_RAW, 132) or die $!;
print "listening\\n";
while (1) {
  recv($raw, my $data, 2000, 0);
  my $at = (unpack("C", $data) & 15) * 4;
  my (undef, $port) = unpack "nn", substr $data, $at;
  next if unpack("C", substr $data, $at + 12) != 1;
  print inet_ntoa(substr $data, 12, 4), " $port\\n";
  exit 0;
}
`;
