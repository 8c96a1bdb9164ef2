/**
 * The live connection: one WebSocket for every table and object that the page follows. It connects
 * again after a break, and opens everything that is still followed again.
 */
import type {
  Followed,
  LiveMessage,
  PageMessage,
  TableView,
} from "../../src/dashboard/live/messages.ts";
import { UNAUTHORIZED } from "./api.ts";
import { openSocket } from "./session.ts";

const RETRY_MS = 1_000;

interface Follower {
  opening: PageMessage;
  take(message: LiveMessage): void;
}

export class Live {
  readonly #followers = new Map<number, Follower>();
  #socket: WebSocket | undefined;
  #lastId = 0;

  table(
    followed: Followed,
    view: TableView,
    take: Follower["take"],
  ): { look(view: TableView): void; close(): void } {
    const id = ++this.#lastId;
    const follower: Follower = { opening: { op: "table", id, view, ...followed }, take };
    this.#open(id, follower);
    const look = (next: TableView): void => {
      follower.opening = { op: "table", id, view: next, ...followed };
      this.#send({ op: "view", id, view: next });
    };
    return { look, close: () => this.#close(id) };
  }

  overview(take: Follower["take"]): { close(): void } {
    const id = ++this.#lastId;
    this.#open(id, { opening: { op: "overview", id }, take });
    return { close: () => this.#close(id) };
  }

  objects(followed: Followed, take: Follower["take"]): { close(): void } {
    const id = ++this.#lastId;
    this.#open(id, { opening: { op: "objects", id, ...followed }, take });
    return { close: () => this.#close(id) };
  }

  #open(id: number, follower: Follower): void {
    this.#followers.set(id, follower);
    this.#send(follower.opening);
  }

  #close(id: number): void {
    this.#followers.delete(id);
    this.#send({ op: "close", id });
  }

  #send(message: PageMessage): void {
    const socket = this.#connected();
    // Before it is open nothing needs to be sent: `open` sends all that is followed.
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  #connected(): WebSocket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = openSocket("/live", "live.k8ts.io");
    this.#socket = socket;
    socket.onopen = () => {
      for (const { opening } of this.#followers.values()) socket.send(JSON.stringify(opening));
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(String(data)) as LiveMessage;
      if (message.type === "error" && message.code === 401) dispatchEvent(new Event(UNAUTHORIZED));
      this.#followers.get(message.id)?.take(message);
    };
    socket.onclose = () => {
      this.#socket = undefined;
      const message = "the connection to the dashboard broke; trying again";
      for (const [id, { take }] of this.#followers) take({ id, type: "error", code: 0, message });
      setTimeout(() => {
        if (this.#followers.size > 0) this.#connected();
      }, RETRY_MS);
    };
    return socket;
  }
}
