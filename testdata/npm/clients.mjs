// A client of mcpl serve, made with one of the protocol's own libraries. It does what hosts do, through the four tools
// of the search exposure and then through the activate exposure, and prints what came of each step as one JSON object.
//
//	node clients.mjs sdk|client|client-auto stdio COMMAND
//	node clients.mjs sdk|client|client-auto http URL
import { readFile } from "node:fs/promises";

const [library, transport, target] = process.argv.slice(2);
const said = {};
let updated;
const update = new Promise((resolve) => (updated = resolve));
const answer = async (request) => {
  said.question = request.params.message;
  return { action: "accept", content: { name: "Ada" } };
};

const connect = {
  async sdk() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client({ name: "sdk", version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(types.ElicitRequestSchema, answer);
    client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, updated);
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => (said.changed = true));
    await client.connect(open(StdioClientTransport, StreamableHTTPClientTransport));
    client.call = (params, options) => client.callTool(params, undefined, options);
    return client;
  },
  async client(options = {}) {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    const client = new Client({ name: "client", version: "1" }, { capabilities: { elicitation: { form: {} } }, ...options });
    client.setRequestHandler("elicitation/create", answer);
    client.setNotificationHandler("notifications/resources/updated", updated);
    client.setNotificationHandler("notifications/tools/list_changed", () => (said.changed = true));
    await client.connect(open(StdioClientTransport, StreamableHTTPClientTransport));
    client.call = (params, options) => client.callTool(params, options);
    said.revision = client.getNegotiatedProtocolVersion();
    return client;
  },
  "client-auto": () => connect.client({ versionNegotiation: { mode: "auto" } }),
};

// written waits until a file of the server has a text.
async function written(file, text) {
  while (!(await readFile(file, "utf8").catch(() => "")).includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
}

let exposure = "search";

function open(Stdio, HTTP) {
  if (transport === "stdio") return new Stdio({ command: target, args: ["--expose", exposure] });
  return new HTTP(new URL(`${target}/${exposure}`));
}

let client = await connect[library]();
const text = (result) => result.content.map((block) => block.text).join("");
const tool = (name, args, options) => client.call({ name, arguments: args }, options);

said.list = (await client.listTools()).tools.map((t) => t.name);
said.search = text(await tool("search_tools", { query: "add numbers" }));
said.call = (await tool("call_tool", { server: "s", tool: "odd", arguments: { a: 1 } })).structuredContent;
said.answer = text(await tool("call_tool", { server: "s", tool: "ask" }));

if (said.revision >= "2026-07-28") {
  await client.listen({ resourceSubscriptions: ["a:one"] });
} else {
  await client.subscribeResource({ uri: "a:one" });
}
said.update = (await update).params.uri;

const leaving = new AbortController();
const hanging = tool("call_tool", { server: "s", tool: "hang" }, { signal: leaving.signal }).then(
  () => "an answer",
  () => "cancelled",
);
await written(process.env.RECEIVED, '"name":"hang"');
leaving.abort();
said.cancel = await hanging;
await written(process.env.CANCELLED, "requestId"); // a client that is closed at once may not have sent it
await client.close();

exposure = "activate";
said.changed = false;
client = await connect[library]();
const names = async () => (await client.listTools()).tools.map((t) => t.name);
said.inactive = [await names(), JSON.parse(text(await tool("s_odd", { a: 1 }))).success];
if (said.revision >= "2026-07-28") await client.listen({ toolsListChanged: true });
JSON.parse(text(await tool("activate", { activate: ["s_odd"] })));
while (!said.changed) await new Promise((resolve) => setTimeout(resolve, 20));
said.active = [await names(), (await tool("s_odd", { a: 1 })).structuredContent.sum];
console.log(JSON.stringify(said));
await client.close();
