import '../bin/runtime.ts'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { startCluster } from './installation.ts'
import { withScope } from './scope.ts'

const usage = `node bench/request-path.ts [--functions]

Lists the files of lib whose functions a request calls, measured by V8's coverage of an API server with its database.
A function counts if each of several equal requests calls it after a first one. A file of types, constants or schemas
has no such function and does not count. --functions lists the functions of each file with their lines.`

const REPETITIONS = 3
const root = new URL('..', import.meta.url)
const library = new URL('lib/', root).href
const testing = new URL('lib/testing/', root).href

/** The called functions by file, each with its line. */
type Called = Map<string, Set<string>>

async function calledBy(session: Session, request: () => Promise<void>): Promise<Called> {
  await session.post('Profiler.takePreciseCoverage') // resets the counts
  await request()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const scripts = result.filter(({ url }) => url.startsWith(library) && !url.startsWith(testing))
  return new Map(
    scripts.flatMap(({ url, functions }): [string, Set<string>][] => {
      const text = readFileSync(new URL(url), 'utf8')
      const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
      const called = functions.flatMap(({ functionName, ranges: [whole] }) =>
        whole && whole.count > 0 ? [`${lineOf(whole.startOffset)} ${functionName || '(anonymous)'}`] : [],
      )
      return called.length > 0 ? [[relative(fileURLToPath(root), fileURLToPath(url)), new Set(called)]] : []
    }),
  )
}

/** The functions that each repetition calls: those of timers and of caches that are full are not among them. */
async function calledByEach(session: Session, request: () => Promise<void>): Promise<Called> {
  await request()
  let common = await calledBy(session, request)
  for (let n = 1; n < REPETITIONS; n++) {
    const other = await calledBy(session, request)
    const both = [...common].map(([file, called]) => [file, called.intersection(other.get(file) ?? new Set())] as const)
    common = new Map(both.filter(([, called]) => called.size > 0))
  }
  return common
}

const options = { functions: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } } as const
const { values } = parseArgs({ options })
if (values.help) {
  console.log(usage)
  process.exit()
}

await withScope(async (scope) => {
  const cluster = await startCluster(scope)
  const { ownerUrl, appUrl } = await cluster.open('path')
  const test = await testApp({}, { ownerUrl, appUrl, drop: async () => {} })
  scope.defer(() => test.close())
  const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const accepted = async (
    method: string,
    path: string,
    caller: { token?: string; cookie?: string },
    body?: unknown,
  ) => {
    const { status, text, json } = await test.fetch(method, path, { ...caller, body })
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
    return json
  }
  const contribute = async (): Promise<string> => (await accepted('POST', '/v1/knowledge', agent, trace())).data.id
  const units: string[] = []
  const people: Awaited<ReturnType<typeof signedIn>>[] = []
  for (let n = 0; n <= REPETITIONS; n++) {
    units.push(await contribute())
    const person = await signedIn(test)
    const { token } = await issuedAgent(test, ['read', 'write'], { owner: person })
    await accepted('POST', '/v1/knowledge', { token }, trace())
    people.push(person)
  }
  let next = 0
  const nextPerson = () => {
    const person = people[next++ % people.length]
    if (!person) throw new Error('no person')
    return person
  }
  const requests: Record<string, () => Promise<unknown>> = {
    'GET /v1/auth/me': () => accepted('GET', '/v1/auth/me', agent),
    'POST /v1/knowledge': contribute,
    'DELETE /v1/knowledge/{id}': () => accepted('DELETE', `/v1/knowledge/${units.pop()}`, agent),
    'GET /api/privacy/plan': () => accepted('GET', '/api/privacy/plan', nextPerson()),
    'POST /api/privacy/requests': () => {
      const { cookie, password } = nextPerson()
      return accepted('POST', '/api/privacy/requests', { cookie }, { kinds: ['erasure'], grace: 'now', password })
    },
  }

  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const list = (name: string, called: Called, shared: Called) => {
    const own = [...called].filter(([file]) => !shared.has(file)).sort()
    console.log(
      `${name}: ${called.size} files${shared === called ? '' : `, ${own.length} of them not in every request`}`,
    )
    for (const [file, functions] of shared === called ? [...called].sort() : own) {
      console.log(`  ${file}`)
      if (values.functions) for (const line of functions) console.log(`    ${line}`)
    }
  }
  let shared: Called | undefined
  for (const [name, request] of Object.entries(requests)) {
    const called = await calledByEach(session, async () => void (await request()))
    shared ??= called
    list(name, called, shared)
  }
  list('the run of the erasure', await calledBy(session, async () => void (await drain(test))), new Map())
})
