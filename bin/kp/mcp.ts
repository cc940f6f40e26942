import type { Command } from 'commander'
import { RequestRefused } from '#lib/client/request.ts'
import { type ToolCalls, ToolRefused } from '#lib/http/mcp/tools.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { describeError, Failure } from './failure.ts'
import type { CommandSession } from './session.ts'

/** Converts what the registry refused to the form that the tools return. Other errors of kp become refusals too, so that the MCP session continues. */
async function refusing<T>({ url, command }: CommandSession, asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RequestRefused) {
      const { code, detail, title, issues, instance } = error.problem
      // Without an answer of a registry, the problem does not name the address.
      const { message, advice } = describeError(error, url, command)
      const isAnswer = code !== 'unreachable' && code !== 'unknown'
      throw new ToolRefused({
        code,
        detail: isAnswer ? (detail ?? title) : [message, advice].join(' '),
        ...(issues && { issues }),
        request_id: instance,
        retry_after: error.retryAfter,
      })
    }
    if (error instanceof Failure) throw new ToolRefused({ code: error.code, detail: error.message })
    throw error
  }
}

/** The text of a response of at most `most` bytes; undefined if it is longer. */
async function textOf({ body }: Response, most: number): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.byteLength
    if (size > most) return undefined
    parts.push(piece)
  }
  return Buffer.concat(parts).toString('utf8')
}

const overHttp = (session: CommandSession): ToolCalls => ({
  call: (operation, parts) => refusing(session, session.call(operation, parts)),
  read: async (operation, parts, most) => textOf(await refusing(session, session.stream(operation, parts)), most),
})

/** Serves tools on standard input and output until the client closes them. */
async function serve(session: CommandSession): Promise<void> {
  const { stdin, stdout, onTermination } = session.invocation
  if (session.token === undefined)
    throw new Failure('token_missing', 'The tools act as an agent, and no agent is signed in.', {
      advice: `Sign in with ${session.command('login <token>')}, or set KP_TOKEN.`,
    })
  const [{ serveStdio, StdioServerTransport }, { mcpServer }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('#lib/http/mcp/server.ts'),
  ])
  const calls = overHttp(session)
  const handle = serveStdio(() => mcpServer(calls, { origin: session.url, version: packageJson.version }), {
    transport: new StdioServerTransport(stdin, stdout),
    onerror: ({ name }) => session.terminal.warning(`A message was not understood (${name}). The session continues.`),
  })
  const forget = onTermination(() => void handle.close())
  await new Promise<void>((ended) => stdin.once('end', ended).once('close', ended))
  forget()
  await handle.close()
}

/** Tools for agents: mcp. */
export function mcpCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('mcp')
    .summary('serve the registry as MCP tools on standard input/output')
    .description(
      'For agents that start a server themselves: search, read, contribute, vote, export and request an erasure as the signed-in agent. No tool erases: a person confirms. Clients that connect over HTTP use the address /mcp of the registry instead.\n\nExample:\n  kp mcp',
    )
    .action(() => serve(begin()))
}
