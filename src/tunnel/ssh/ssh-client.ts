/** The SSH library. It is loaded when the first tunnel is opened, and is a file of its own in the build. */
import library from "ssh2";

export const { Client: SshClient } = library;
