import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { commandLine, type Ran } from '#lib/testing/command-line.ts'
import { drain, drainWhile } from '#lib/testing/jobs.ts'
import { authPages } from '#lib/testing/next-auth.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let line: ReturnType<typeof commandLine>
/** A new installation for each group, because one allows only twenty sign-ins a minute from a network. */
function ownInstallation(): void {
  beforeAll(async () => {
    app = await testApp({}, undefined, { pages: authPages })
    line = commandLine(app.url)
  })
  afterAll(async () => {
    line.close()
    await app.close()
  })
  beforeEach(async () => {
    somebody = await account()
    line.newHome()
  })
}

interface Somebody {
  email: string
  password: string
  accountId: string
}
let somebody: Somebody
async function account(role: Role = 'person', mustChangePassword = false): Promise<Somebody> {
  const made = { email: `${newId('mail').toLowerCase()}@example.org`, password: newId('password') }
  const now = app.clock.now()
  const accountId = await app.db.transaction(async (tx) =>
    createAccount(tx, {
      ...made,
      organisationId: await createOrganisation(tx, 'Test', now),
      name: 'Somebody',
      role,
      mustChangePassword,
      now,
    }),
  )
  return { ...made, accountId }
}
const as = (who: Somebody, args: readonly string[], more = ''): Promise<Ran> =>
  line.run([...args, '--as', who.email, '--password-stdin'], { input: `${who.password}\n${more}` })
/** Runs the queue while kp waits for it. */
async function whileWorking(ran: Promise<Ran>): Promise<Ran> {
  let isOver = false
  const over = ran.finally(() => {
    isOver = true
  })
  await drainWhile(app, () => !isOver)
  return over
}
/** An agent of the person, claimed with kp. */
async function claimed(who: Somebody): Promise<{ id: string; token: string }> {
  const agent = await app.agent()
  await line.signIn(agent.token)
  const ran = await as(who, ['account', 'claim'])
  expect(ran, ran.err).toMatchObject({ status: 0 })
  return agent
}
const openSessions = (who: Somebody): Promise<number> =>
  app.db.prisma.session.count({ where: { accountId: who.accountId, revokedAt: null } })

describe('a person who runs kp privacy', () => {
  ownInstallation()

  test('signs in for one command, without storing anything, and the session ends afterwards', async () => {
    const ran = await as(somebody, ['account', 'show', '--json'])
    expect(ran.json.data).toMatchObject({ account_id: somebody.accountId, email: somebody.email })
    expect(await openSessions(somebody)).toBe(0)
    expect(await app.db.prisma.session.count({ where: { accountId: somebody.accountId } })).toBe(1)
    expect(existsSync(line.configuration()) ? readdirSync(line.configuration()) : []).not.toContain('config.json')
  })

  test('gets exit code 4 for a wrong password, and sends nothing without a password', async () => {
    const wrong = await line.run(['account', 'show', '--as', somebody.email, '--password-stdin'], { input: 'a guess' })
    expect(wrong).toMatchObject({ status: 4, out: '' })
    expect(wrong.err).toContain('is wrong')
    expect(await line.run(['account', 'show', '--as', somebody.email])).toMatchObject({ status: 2, out: '' })
    expect(await line.run(['account', 'show'])).toMatchObject({ status: 2 })
    expect(await line.run(['privacy', 'inventory', '--password-stdin'])).toMatchObject({ status: 2 })
    const nobody = await as({ ...somebody, email: 'nobody@example.org' }, ['account', 'show'])
    expect([nobody.status, nobody.err]).toEqual([wrong.status, wrong.err])
  })

  test('a person who runs kp privacy with a one-time password must choose a new one first', async () => {
    const fresh = await account('person', true)
    const refused = await as(fresh, ['privacy', 'inventory'])
    expect(refused.status).toBe(4)
    expect(refused.err).toContain(`account password --as ${fresh.email}`)
    const next = newId('password')
    expect(await as(fresh, ['account', 'password'], next)).toMatchObject({ status: 0 })
    expect(await as({ ...fresh, password: next }, ['privacy', 'inventory'])).toMatchObject({ status: 0 })
  })

  test('claims the agent whose token is stored on this machine', async () => {
    const agent = await claimed(somebody)
    expect(await app.db.prisma.agent.findUnique({ where: { id: agent.id } })).toMatchObject({
      ownerId: somebody.accountId,
    })
    line.newHome()
    expect(await as(somebody, ['account', 'claim'])).toMatchObject({ status: 2 })
  })
})

const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0
describe.runIf(hasTerminals)('on a terminal', () => {
  ownInstallation()

  test('kp asks for the password without echo and shows a progress bar of the export', async () => {
    const output = join(line.workplace, `${newId('me')}.zip`)
    const words = `export me --as ${somebody.email} --output ${output}`
    const program = join(import.meta.dirname, '../kp.ts')
    const child = spawn('script', ['-qec', `"${process.execPath}" "${program}" ${words}`, '/dev/null'], {
      cwd: line.workplace,
      env: {
        PATH: process.env.PATH,
        HOME: line.workplace,
        XDG_CONFIG_HOME: line.workplace,
        TERM: 'xterm',
        NODE_ENV: 'production',
        KP_URL: app.url,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let seen = ''
    let isAsked = false
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      seen += piece
      if (isAsked || !seen.includes('hidden while you type')) return
      isAsked = true
      // A typing error, corrected with backspace.
      child.stdin.write(`x\u007f${somebody.password}\r`)
    })
    let status: number | null | undefined
    child.once('close', (code) => {
      status = code
    })
    await drainWhile(app, () => status === undefined)
    expect(status, seen).toBe(0)
    expect(seen).not.toContain(somebody.password)
    expect(seen).toMatch(/[█░]{20} +\d+ %|Waiting for other exports/)
    expect(seen).toContain('records')
    expect(existsSync(output)).toBe(true)
  })
})

describe('stored data', () => {
  ownInstallation()

  test('privacy inventory lists the data of an agent by its token, and of a person with all agents', async () => {
    const agent = await claimed(somebody)
    await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const own = await line.run(['privacy', 'inventory', '--json'])
    expect(own.json.subject).toEqual({ account_id: null, agents: [agent.id], self_hosted: [] })
    const ran = await as(somebody, ['privacy', 'inventory'])
    expect(ran, ran.err).toMatchObject({ status: 0 })
    expect(ran.out).toMatch(/knowledge units.* {2}1 {2}/)
    expect(ran.out).toContain('Other records about you, which an erasure does not delete:')
    expect(ran.out).toContain('audit entries')
    const all = await as(somebody, ['privacy', 'inventory', '--json', '--agent', agent.id])
    expect(all.json.data.map(({ holder }: { holder: string }) => holder)).toContain('exports.files')
    const strange = await as(await account(), ['privacy', 'inventory', '--agent', agent.id])
    expect(strange.status).toBe(1)
  })

  test('export me --as downloads a verified private file, and does not overwrite a file', async () => {
    const agent = await claimed(somebody)
    await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const output = join(line.workplace, `${newId('me')}.zip`)
    const ran = await whileWorking(as(somebody, ['export', 'me', '--output', output, '--json']))
    expect(ran, ran.err).toMatchObject({ status: 0 })
    const bytes = readFileSync(output)
    expect(ran.json.data).toMatchObject({ bytes: bytes.byteLength, scope: 'all', file: output })
    expect(statSync(output).mode & 0o777).toBe(0o600)
    const { manifest, files } = await openArchive(bytes)
    expect(manifest).toMatchObject({ account_id: somebody.accountId, agents: [{ agent_id: agent.id }] })
    expect(JSON.parse(files[`agents/${agent.id}/knowledge_units.json`] ?? '')).toHaveLength(1)
    expect(await openSessions(somebody)).toBe(0)
    const again = await as(somebody, ['privacy', 'export', '--output', output])
    expect([again.status, readFileSync(output).equals(bytes)]).toEqual([2, true])
    expect(readdirSync(line.workplace).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('export me leaves no file when the export fails', async () => {
    const output = join(line.workplace, `${newId('me')}.zip`)
    const started = as(somebody, ['export', 'me', '--output', output])
    await vi.waitUntil(() => app.db.prisma.preparedExport.count({ where: { accountId: somebody.accountId } }), 60_000)
    await app.db.prisma.preparedExport.updateMany({
      where: { accountId: somebody.accountId },
      data: { state: 'failed', fault: 'internal' },
    })
    const ran = await started
    expect(ran).toMatchObject({ status: 1, out: '' })
    expect(ran.err).toContain('could not prepare')
    expect(existsSync(output)).toBe(false)
  })

  test('privacy plan lists what would be erased, and erases nothing', async () => {
    const agent = await claimed(somebody)
    const ran = await as(somebody, ['privacy', 'plan'])
    expect(ran, ran.err).toMatchObject({ status: 0 })
    expect(ran.out).toContain('DELETED OR PSEUDONYMIZED')
    expect(ran.out).toContain('Nothing was erased.')
    expect(ran.out).not.toContain('null')
    expect(ran.out).toContain(', for ever. ')
    expect(ran.out).toMatch(/, until \d{4}-\d\d-\d\d\. /)
    expect(await app.db.prisma.agent.count({ where: { id: agent.id } })).toBe(1)
  })
})

describe('requests', () => {
  ownInstallation()

  test('privacy restrict restricts processing, and --lift ends it', async () => {
    const agent = await claimed(somebody)
    expect(await as(somebody, ['privacy', 'restrict'])).toMatchObject({ status: 0 })
    expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.code).toBe(
      'restricted',
    )
    expect(await as(somebody, ['privacy', 'restrict', '--lift'])).toMatchObject({ status: 0 })
    expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).status).toBe(201)
  })

  test('privacy requests and show return the person’s request with its timeline, and not another person’s', async () => {
    const filed = await as(somebody, ['privacy', 'request', 'restriction', '--json'])
    expect(filed.json.data).toMatchObject({ kinds: ['restriction'] })
    await drain(app)
    const { id } = filed.json.data
    expect((await as(somebody, ['privacy', 'requests', '--json'])).json.data).toMatchObject([{ id }])
    const shown = await as(somebody, ['privacy', 'show', id])
    expect(shown.out).toContain('Timeline:')
    expect((await as(await account(), ['privacy', 'show', id])).status).toBe(1)
  })

  test('privacy request erasure needs --yes without a terminal, and can be cancelled in its grace period', async () => {
    await claimed(somebody)
    const refused = await as(somebody, ['privacy', 'request', 'erasure'])
    expect(refused).toMatchObject({ status: 2 })
    expect(refused.err).toContain('export me')
    expect(await app.db.prisma.privacyRequest.count({ where: { accountId: somebody.accountId } })).toBe(0)
    const filed = await as(somebody, ['privacy', 'request', 'erasure', '--grace', '7d', '--yes', '--json'])
    expect(filed, filed.err).toMatchObject({ status: 0 })
    expect(filed.json.data).toMatchObject({ state: 'waiting', verified_by: 'password', grace: '7d' })
    const cancelled = await as(somebody, ['privacy', 'cancel', filed.json.data.id, '--json'])
    expect(cancelled.json.data.state).toBe('cancelled')
    expect(await as(somebody, ['privacy', 'cancel', filed.json.data.id])).toMatchObject({ status: 1 })
    expect(await as(somebody, ['privacy', 'cancel'])).toMatchObject({ status: 2 })
  })

  test('privacy request erasure --wait returns a valid receipt after the account is erased', async () => {
    const agent = await claimed(somebody)
    await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const keys = join(line.workplace, 'jwks.json')
    writeFileSync(keys, (await app.fetch('GET', '/.well-known/jwks.json')).text)
    const ran = await whileWorking(
      as(somebody, ['privacy', 'request', 'erasure', '--grace', 'now', '--wait', '--yes', '--json']),
    )
    expect(ran, ran.err).toMatchObject({ status: 0 })
    expect(ran.json.signed_out).toBe(true)
    expect(ran.json.data.receipt_id).toMatch(/^rcpt_/)
    const { receipt_id: receipt } = ran.json.data
    await drain(app)
    expect(await app.db.prisma.account.count({ where: { id: somebody.accountId } })).toBe(0)
    expect(await app.db.prisma.agent.count({ where: { id: agent.id } })).toBe(0)
    const emails = readdirSync(join(app.dataDir, 'mail')).map((name) =>
      readFileSync(join(app.dataDir, 'mail', name), 'utf8'),
    )
    expect(emails.join('\n').replaceAll(/=\r?\n/g, '')).toContain(receipt)
    const file = join(line.workplace, 'receipt.json')
    expect(await line.run(['receipts', 'get', receipt, '--output', file])).toMatchObject({ status: 0 })
    const verified = await line.run(['receipts', 'verify', file, '--keys', keys])
    expect(verified, verified.out).toMatchObject({ status: 0 })
  })

  test('an agent cancels its own erasure with the returned link token', async () => {
    const agent = await app.agent()
    await line.signIn(agent.token)
    const shown = await line.run(['privacy', 'request', 'restriction'])
    expect(shown.out).not.toContain('rcpt_')
    const filed = await line.run(['privacy', 'request', 'erasure', '--yes', '--json'])
    expect(filed, filed.err).toMatchObject({ status: 0 })
    const again = await line.run(['privacy', 'show', filed.json.data.id])
    expect(again.out).toContain(`${filed.json.data.receipt_id} (once it is done)`)
    expect(await line.run(['me'])).toMatchObject({ status: 4 })
    const back = await line.run(['privacy', 'cancel', '--cancel-token', filed.json.data.cancel_token])
    expect(back, back.err).toMatchObject({ status: 0 })
    expect(await line.run(['me'])).toMatchObject({ status: 0 })
  })
})
