// Serves the built page with the test server's data, to look at while working on it: `npm run serve`.

import { TestServer } from "./server.ts";

const server = new TestServer(new URL("../dist", import.meta.url).pathname);
console.log(await server.start(Number(process.env.PORT ?? 8123)));
