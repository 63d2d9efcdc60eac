// The MCP server `tests/fixtures/mcp/asking.py` as a confirmed server of a test.
import { readFile } from 'node:fs/promises'
import { ask } from './harness.mjs'

const program = await readFile(new URL('../../tests/fixtures/mcp/asking.py', import.meta.url), 'utf8')
const entry = {
  command: '/usr/bin/python3',
  args: ['-c', program, 'modern'],
  env: { PET: 'cat' },
  miniclaw: { load: 'always' },
}

/** Returns what adds the server `pets` to a home, as the page does, and trusts these tools. */
export const withPets =
  (...trusted) =>
  async app => {
    const html = await (await fetch(app.url)).text()
    const secret = /name="miniclaw-secret" content="([0-9a-f]+)"/.exec(html)?.[1]
    const post = (path, body) =>
      ask(app, path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Miniclaw-Secret': secret },
        body: JSON.stringify(body),
      })
    const { servers } = await post('/api/mcp', { mcpServers: { pets: entry } })
    const confirmed = await post('/api/mcp/pets/trust', { sha256: servers[0].sha256 })
    const tools = confirmed.servers[0].tools
      .filter(({ name }) => trusted.includes(name))
      .map(({ name, sha256 }) => ({ name, sha256 }))
    await post('/api/mcp/pets/tools/trust', { tools })
  }
