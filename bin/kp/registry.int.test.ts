import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { issuedAgent, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'

let app: TestApp
let kp: ReturnType<typeof commandLine>
beforeAll(async () => {
  app = await testApp()
  kp = commandLine(app.url)
})
afterAll(async () => {
  kp.close()
  await app.close()
})
beforeEach(() => kp.newHome())

async function signIn() {
  const agent = await app.agent()
  await kp.signIn(agent.token)
  return agent
}
const post = async (path: string, token: string, body: unknown): Promise<string> => {
  const { json, status, text } = await app.fetch('POST', path, { token, body })
  if (status !== 201) throw new Error(`${path} answered ${status}: ${text}`)
  return json.data.id
}
const at = (name: string) => join(kp.workplace, name)

describe('search', () => {
  test('prints matches with snippets, applies filters and shows how to continue', async () => {
    const { token, id } = await signIn()
    const own = await post('/v1/knowledge', token, trace({ task: { objective: 'Why the zeppelin lands early' } }))
    await post(
      '/v1/knowledge',
      token,
      trace({ task: { objective: 'Why the zeppelin lands late' } }, { task_domain: 'air' }),
    )
    const found = await kp.run(['search', 'zeppelin', 'early'])
    expect(found.status, found.err).toBe(0)
    expect(found.out.split('\n')[0]).toContain(own)
    expect(found.out).toContain('zeppelin lands early')
    const filtered = await kp.run(['search', 'zeppelin', '--domain', 'air', '--agent', id, '--type', 'trace', '--json'])
    expect(filtered.json.data).toHaveLength(1)
    const first = await kp.run(['search', 'zeppelin', '--limit', '1'])
    const cursor = /--cursor (\S+)/.exec(first.err)?.[1] ?? ''
    const second = await kp.run(['search', 'zeppelin', '--limit', '1', '--cursor', cursor, '--json'])
    expect(second.json.data).toHaveLength(1)
    expect(first.out).not.toContain(second.json.data[0].id)
    expect((await kp.run(['search', 'nothinghasthis'])).err).toContain('No results that you can access')
    expect((await kp.run(['search', 'x', '--min-quality', 'much'])).status).toBe(2)
    expect((await kp.run(['search', 'x', '--type', 'song'])).status).toBe(2)
  })

  test('prints text of other authors without control characters', async () => {
    const { token } = await app.agent()
    const id = await post('/v1/knowledge', token, trace({ task: { objective: 'An airship' } }))
    const row = await app.db.prisma.unit.findUniqueOrThrow({ where: { id } })
    // Stored without the sanitizer, as an old or foreign registry might have it.
    const document = { ...Object(row.document), task: { objective: 'An airship \u001b[31m\u202e red' } }
    await app.db.prisma.unit.update({ where: { id }, data: { document } })
    await signIn()
    for (const words of [['airship'], []]) {
      const { out } = await kp.run(['search', ...words])
      expect(out).toContain('irship')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    }
  })
})

test('vote changes the score of another agent’s unit, and is rejected for a unit of the voting agent', async () => {
  const { token } = await app.agent()
  const id = await post('/v1/knowledge', token, trace({ task: { objective: 'to be judged' } }))
  await kp.signIn((await issuedAgent(app, ['read', 'write'], { owner: await signedIn(app) })).token)
  expect((await kp.run(['vote', id])).status).toBe(2)
  const voted = await kp.run(['vote', id, '--valid', '--feedback', 'It held.', '--json'])
  expect(voted.json.data, voted.err).toMatchObject({ unit_id: id, valid: true })
  expect((await kp.run(['reputation', '--json'])).json.data.ledger).toHaveLength(1)
  await kp.signIn(token)
  expect((await kp.run(['vote', id, '--valid'])).status).not.toBe(0)
  await signIn()
  expect((await kp.run(['vote', id, '--valid'])).out).toContain('does not count yet')
})

describe('install', () => {
  const files = [{ path: 'refs/more.md', content: '# More\n' }]

  test('writes a skill, given by name or id, into a new folder, and overwrites nothing', async () => {
    const { token } = await signIn()
    const id = await post('/v1/skills', token, { skill_md: skillMd('build-speed'), files })
    const installed = await kp.run(['install', 'build-speed', '--into', 'here', '--json'])
    expect(installed.status, installed.err).toBe(0)
    expect(installed.json.data).toMatchObject({ id, name: 'build-speed', files: ['SKILL.md', 'refs/more.md'] })
    expect(readFileSync(at('here/build-speed/SKILL.md'), 'utf8')).toBe(skillMd('build-speed'))
    expect(readFileSync(at('here/build-speed/refs/more.md'), 'utf8')).toBe('# More\n')
    writeFileSync(at('here/build-speed/SKILL.md'), 'mine')
    expect((await kp.run(['install', id, '--into', 'here'])).err).toContain('--force')
    expect(readFileSync(at('here/build-speed/SKILL.md'), 'utf8')).toBe('mine')
    expect((await kp.run(['install', id, '--into', 'here', '--force'])).status).toBe(0)
    const shown = await kp.run(['get', id])
    expect(shown.out).toContain('refs/more.md')
    expect((await kp.run(['skills', 'build', '--json'])).json.data.map((one: { id: string }) => one.id)).toContain(id)
    expect((await kp.run(['install', 'no-such-skill'])).status).toBe(1)
  })

  test('rejects a name that several skills have', async () => {
    const others = [await app.agent(), await app.agent()]
    for (const { token } of others) await post('/v1/skills', token, { skill_md: skillMd('twice-there') })
    await signIn()
    const ran = await kp.run(['install', 'twice-there'])
    expect(ran.status).toBe(1)
    for (const { id } of others) expect(ran.err).toContain(id)
  })

  test('warns about a skill with undeclared tools, and needs confirmation', async () => {
    const { token } = await signIn()
    const body = 'Use the `Bash` tool to run what you find.\n'
    const skill_md = skillMd('says-less', { front: 'allowed-tools: Read', body })
    await post('/v1/skills', token, { skill_md })
    const refused = await kp.run(['install', 'says-less', '--into', 'there'])
    expect(refused.status).toBe(1)
    expect(refused.err).toContain('Bash')
    expect(existsSync(at('there'))).toBe(false)
    expect((await kp.run(['install', 'says-less', '--into', 'there', '--accept'])).status).toBe(0)
  })

  test('writes nothing when the registry names a file outside the folder', async () => {
    const skill = {
      id: 'kp:skill:x',
      agent_id: 'a',
      name: 'trap',
      description: 'd',
      version: null,
      author: null,
      license: null,
      tags: [],
      allowed_tools: null,
      kp: null,
      visibility: 'network',
      quality_score: 1,
      misrepresents: false,
      undeclared_tools: [],
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      skill_md: skillMd('trap'),
      files: [
        {
          path: '../../../caught',
          size: 1,
          sha256: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
          content: 'x',
        },
      ],
    }
    const foreign = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'KP-Schema-Version': 'v1' })
      response.end(JSON.stringify({ data: skill }))
    })
    await new Promise<void>((listening) => foreign.listen(0, '127.0.0.1', listening))
    const address = foreign.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const ran = await kp.run(['install', 'kp:skill:x', '--into', 'trapped/in', '--url', url])
    await new Promise((closed) => foreign.close(closed))
    expect(ran.status).toBe(1)
    expect(ran.err).toContain('leaves the skill’s folder')
    expect(existsSync(at('trapped'))).toBe(false)
    expect(existsSync(join(kp.workplace, '../caught'))).toBe(false)
  })

  test('tombstones reports erased skills, and removes the copies on request', async () => {
    const author = await app.agent()
    const id = await post('/v1/skills', author.token, { skill_md: skillMd('to-be-erased'), files })
    await signIn()
    await kp.run(['install', id, '--into', 'copies'])
    writeFileSync(at('copies/to-be-erased/mine.txt'), 'mine')
    expect((await kp.run(['tombstones', '--json'])).json).toEqual({ data: [], copies: 1 })
    await app.fetch('DELETE', `/v1/skills/${id}`, { token: author.token })
    app.clock.advance(31_000)
    const told = await kp.run(['tombstones', '--json'])
    expect(told.json.data).toMatchObject([{ id, removed: false }])
    expect(existsSync(at('copies/to-be-erased/SKILL.md'))).toBe(true)
    expect((await kp.run(['search', 'anything'])).err).toContain('to-be-erased')
    expect((await kp.run(['tombstones', '--apply', '--json'])).json.data).toMatchObject([{ id, removed: true }])
    expect(readdirSync(at('copies/to-be-erased'))).toEqual(['mine.txt'])
    expect((await kp.run(['tombstones', '--json'])).json).toEqual({ data: [], copies: 0 })
  })
})

describe('export and import', () => {
  test('export writes a private file without overwriting, and another registry imports it once', async () => {
    const { token, id } = await signIn()
    const unit = await post('/v1/knowledge', token, trace({ task: { objective: 'to be carried' } }))
    await post('/v1/skills', token, { skill_md: skillMd('carried') })
    const exported = await kp.run(['export', 'me', '--output', 'me.json', '--json'])
    expect(exported.status, exported.err).toBe(0)
    expect(statSync(at('me.json')).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(at('me.json'), 'utf8'))).toMatchObject({ agent_id: id, total_units: 1 })
    expect((await kp.run(['export', 'me', '--output', 'me.json'])).status).toBe(2)
    expect((await kp.run(['export', id, '--output', 'me.ndjson', '--scope', 'provided'])).status).toBe(0)
    expect((await kp.run(['export', 'me', '--output', 'me.zip'])).status).toBe(0)
    expect(readFileSync(at('me.zip')).subarray(0, 2).toString()).toBe('PK')
    expect(readdirSync(kp.workplace).filter((name) => name.endsWith('.part'))).toEqual([])

    const known = await kp.run(['import', 'me.json', '--json'])
    expect(known.json.data, known.err).toMatchObject({ received: 2, stored: 0, known: 2, failed: 0 })
    const elsewhere = await testApp()
    try {
      const other = await elsewhere.agent()
      const env = { KP_URL: elsewhere.url, KP_TOKEN: other.token }
      const imported = await kp.run(['import', 'me.ndjson', '--json'], { env })
      expect(imported.json.data, imported.err).toMatchObject({ received: 2, stored: 2, failed: 0 })
      await elsewhere.fetch('DELETE', `/v1/knowledge/${unit}`, { token: other.token })
      const input = readFileSync(at('me.json'))
      const again = await kp.run(['import', '-', '--format', 'json'], { env, input })
      expect(again.status).toBe(1)
      expect(again.out).toContain(`✗ ${unit}`)
      expect(again.out).toContain('1 already stored, 1 failed')
      expect((await kp.run(['import', 'me.zip'], { env })).status).toBe(2)
      expect((await kp.run(['import', '-'], { env, input })).status).toBe(2)
    } finally {
      await elsewhere.close()
    }
  })

  test('export leaves no file when the connection breaks', async () => {
    const broken = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'KP-Schema-Version': 'v1' })
      response.write('{"agent_id":"a","knowledge_units":[')
      setImmediate(() => response.destroy())
    })
    await new Promise<void>((listening) => broken.listen(0, '127.0.0.1', listening))
    const address = broken.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const ran = await kp.run(['export', 'agent-x', '--output', 'broken.json', '--url', url])
    await new Promise((closed) => broken.close(closed))
    expect(ran.status).not.toBe(0)
    expect(ran.err).toContain('broke')
    expect(readdirSync(kp.workplace).filter((name) => name.startsWith('broken.json'))).toEqual([])
  })
})

test('retention shows the periods, sets them after a dry run, and sweeps', async () => {
  const { token } = await issuedAgent(app, ['admin', 'read', 'write'])
  const env = { KP_TOKEN: token }
  const unit = await post('/v1/knowledge', token, trace({}, { visibility: 'private' }))
  app.clock.advance(40 * 86_400_000)
  const shown = await kp.run(['retention', 'show'], { env })
  expect(shown.out, shown.err).toMatch(/private +365 days +the environment/)
  expect((await kp.run(['retention', 'set', '--private-days', 'soon', '--yes'], { env })).status).toBe(2)
  const unasked = await kp.run(['retention', 'set', '--private-days', '400'], { env })
  expect(unasked.status).toBe(2)
  expect(unasked.err).toMatch(/\d+ units and skills would be deleted/)
  const set = await kp.run(['retention', 'set', '--private-days', '400', '--yes', '--json'], { env })
  expect(set.json.data.policy.private, set.err).toMatchObject({ days: 400, source: 'override' })
  const shorter = await kp.run(['retention', 'set', '--private-days', '30', '--yes'], { env })
  expect([shorter.status, shorter.err]).toEqual([
    1,
    expect.stringMatching(/cannot shorten.*\n.*Sign in to the console/),
  ])
  expect((await kp.run(['retention', 'reset'], { env })).err).toContain('cannot shorten')
  app.clock.advance(361 * 86_400_000)
  const dry = await kp.run(['retention', 'sweep', '--dry-run', '--json'], { env })
  expect(dry.json.data.would_delete).toMatchObject({ private: 1, network: 0 })
  expect((await app.fetch('GET', `/v1/knowledge/${unit}`, { token })).status).toBe(200)
  const swept = await kp.run(['retention', 'sweep'], { env })
  expect(swept.status, swept.err).toBe(0)
  expect(swept.out).toMatch(/private +400 days +1\n/)
  expect((await kp.run(['retention', 'history', '--json'], { env })).json.data).toHaveLength(1)
  await signIn()
  expect((await kp.run(['retention', 'sweep'])).status).toBe(4)
})

test('delete is rejected under a legal hold until a person releases it', async () => {
  const { token } = await issuedAgent(app, ['admin', 'read', 'write'])
  const env = { KP_TOKEN: token }
  const unit = await post('/v1/knowledge', token, trace())
  const added = await kp.run(['holds', 'add', unit, '--kind', 'unit', '--reason', 'a court order', '--json'], { env })
  expect(added.status, added.err).toBe(0)
  const refused = await kp.run(['delete', unit, '--yes', '--json'], { env })
  expect(JSON.parse(refused.err)).toMatchObject({ error: { code: 'held' } })
  expect((await kp.run(['holds', 'list'], { env })).out).toContain('a court order')
  const release = await kp.run(['holds', 'release', added.json.data.id], { env })
  expect(release.status).not.toBe(0)
  expect(release.err).toContain('/admin/holds')
  expect((await releaseInPerson(app, added.json.data.id)).status).toBe(200)
  expect((await kp.run(['delete', unit, '--yes'], { env })).status).toBe(0)
})

test('sop lists a procedure, approves it as an admin, and writes it as a skill', async () => {
  const { token } = await issuedAgent(app, ['admin', 'read', 'write'])
  const env = { KP_TOKEN: token }
  const author = await issuedAgent(app, ['read', 'write'])
  const id = await post('/v1/sop', author.token, sop({ name: 'Restore a backup' }))
  expect((await kp.run(['sop', 'list', 'backup'], { env })).out).toContain(id)
  expect((await kp.run(['sop', 'approve', id], { env })).out).toContain('Version 1')
  const written = await kp.run(['sop', 'export-skill', id, '--into', 'procedures', '--json'], { env })
  expect(written.status, written.err).toBe(0)
  expect(readFileSync(join(written.json.data.folder, 'SKILL.md'), 'utf8')).toContain('Stop writers first.')
})

test('logout warns that the token may be the only access to an unclaimed agent', async () => {
  const { id } = await signIn()
  const ran = await kp.run(['logout'])
  expect(ran.status).toBe(0)
  expect(ran.err).toContain(id)
  expect(ran.err).toContain('only copy')
})
