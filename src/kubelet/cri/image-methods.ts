/** CRI v1: the methods of runtime.v1.ImageService with their requests and responses. */
import type { GrpcMethod } from "#lib/grpc/grpc-messages.ts";
import { type MessageType, message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";
import { empty, imageSpec, int64Value } from "./common-messages.ts";
import { podSandboxConfig } from "./sandbox-messages.ts";
import { filesystemUsage } from "./stats-messages.ts";

const image = message({
  id: [1, "text"],
  repoTags: [2, { list: "text" }],
  repoDigests: [3, { list: "text" }],
  size: [4, "int"],
  uid: [5, { one: int64Value }],
  username: [6, "text"],
  spec: [7, { one: imageSpec }],
  pinned: [8, "bool"],
});
export type CriImage = ReadOf<typeof image>;

const authConfig = message({
  username: [1, "text"],
  password: [2, "text"],
  auth: [3, "text"],
  serverAddress: [4, "text"],
  identityToken: [5, "text"],
  registryToken: [6, "text"],
});
export type AuthConfig = WriteOf<typeof authConfig>;

export const imageMethods = {
  listImages: method(
    "ListImages",
    message({ filter: [1, { one: message({ image: [1, { one: imageSpec }] }) }] }),
    message({ images: [1, { many: image }] }),
  ),
  imageStatus: method(
    "ImageStatus",
    message({ image: [1, { one: imageSpec }], verbose: [2, "bool"] }),
    message({ image: [1, { one: image }], info: [2, { map: "text" }] }),
  ),
  pullImage: method(
    "PullImage",
    message({
      image: [1, { one: imageSpec }],
      auth: [2, { one: authConfig }],
      sandboxConfig: [3, { one: podSandboxConfig }],
    }),
    message({ imageRef: [1, "text"] }),
  ),
  removeImage: method("RemoveImage", message({ image: [1, { one: imageSpec }] }), empty),
  imageFsInfo: method(
    "ImageFsInfo",
    empty,
    message({
      imageFilesystems: [1, { many: filesystemUsage }],
      containerFilesystems: [2, { many: filesystemUsage }],
    }),
  ),
} as const;

function method<Q, W, A, B>(
  name: string,
  request: MessageType<Q, W>,
  response: MessageType<A, B>,
): GrpcMethod<W, A> {
  return { path: `/runtime.v1.ImageService/${name}`, request, response };
}
