import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPresidio } from '#lib/stores/presidio.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { trace } from '#lib/testing/units.ts'

const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'

/** A Presidio mock that answers in code points and knows one name. */
const asked: unknown[] = []
let mood: 'well' | 'wrong' | 'broken' | 'silent' = 'well'
const analyzer = createServer(async (request, response) => {
  if (request.url === '/health') {
    response.writeHead(mood === 'well' ? 200 : 503).end('Presidio Analyzer service is up')
    return
  }
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const sent: { text: string; language: string } = JSON.parse(body)
  asked.push(sent)
  if (mood === 'silent') return
  if (mood === 'broken') return void request.socket.destroy()
  if (mood === 'wrong') return void response.writeHead(500).end('{"error": "no"}')
  const starts = [...sent.text.matchAll(/Ada Beispiel/g)].map(({ index }) => [...sent.text.slice(0, index)].length)
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(
    JSON.stringify([
      ...starts.map((start) => ({
        entity_type: 'PERSON',
        start,
        end: start + 12,
        score: 0.85,
        analysis_explanation: null,
      })),
      { entity_type: 'EMAIL_ADDRESS', start: 0, end: 3, score: 0.1, analysis_explanation: null },
    ]),
  )
})

let plain: TestApp
let connected: TestApp
beforeAll(async () => {
  await new Promise<void>((listening) => analyzer.listen(0, '127.0.0.1', listening))
  const address = analyzer.address()
  const port = typeof address === 'object' ? address?.port : 0
  plain = await testApp()
  connected = await testApp({ KP_PRESIDIO_URL: `http://127.0.0.1:${port}/`, KP_REGIONS: 'presidio=de@own' })
})
afterAll(async () => {
  await plain.close()
  await connected.close()
  analyzer.closeAllConnections()
  analyzer.close()
})

const scanned = async (app: TestApp, text: string, more: object = {}) => {
  const { token } = await app.agent()
  return app.fetch('POST', '/v1/pii/scan', { token, body: { text, ...more } })
}

test('a scan returns the findings of a text and does not store the text', async () => {
  const text = `Ask a@b.example. ${phrase}`
  const { status, json, text: answer } = await scanned(plain, text)
  expect(status).toBe(200)
  expect(json).toEqual({
    data: {
      findings: [
        { kind: 'email', start: 4, end: 15, score: 0.95, action: 'redact', confidence: 'low' },
        // Published values identify nobody.
        { kind: 'seed_phrase', start: 17, end: text.length, score: 0.97, action: 'block', confidence: 'low' },
      ],
    },
  })
  expect(answer).not.toMatch(/winner|b\.example/)
  expect((await scanned(plain, 'entry price: 100', { strategy: true })).json.data.findings).toMatchObject([
    { kind: 'strategy_detail' },
  ])
  expect((await scanned(plain, 'x'.repeat(100_001))).status).toBe(422)
  expect((await plain.fetch('POST', '/v1/pii/scan', { body: { text } })).status).toBe(401)
})

test('names come from the analyzer with JavaScript offsets, without its guesses', async () => {
  const text = '👩‍💻 wrote Ada Beispiel, a@b.example'
  const { json } = await scanned(connected, text)
  const found: { kind: string; start: number; end: number }[] = json.data.findings
  expect(found.map(({ kind, start, end }) => [kind, text.slice(start, end)])).toEqual([
    ['name', 'Ada Beispiel'],
    ['email', 'a@b.example'],
  ])
  expect(asked.at(-1)).toEqual({
    text: expect.stringContaining('👩‍💻 wrote Ada Beispiel, xxxxxxxxxxx'),
    language: 'en',
  })
  const { json: blocked } = await scanned(connected, `${phrase}, wrote Ada Beispiel`)
  expect(blocked.data.findings).toMatchObject([{ kind: 'seed_phrase' }, { kind: 'name' }])
  expect(JSON.stringify(asked)).not.toMatch(/winner|b\.example/)
  expect((await connected.fetch('GET', '/ready')).json.stores.presidio).toMatchObject({ state: 'ok', region: 'de' })
})

test.each(['wrong', 'broken', 'silent'] as const)(
  'a %s analyzer is reported as missing, and other findings are returned',
  async (how) => {
    mood = how
    const { status, json } = await scanned(connected, 'Ada Beispiel, a@b.example')
    mood = 'well'
    expect(status).toBe(200)
    expect(json.data).toMatchObject({ findings: [{ kind: 'email' }], degraded: ['presidio'] })
  },
)

const objective = (words: string) => ({ ...trace(), task: { objective: words } })
const missing = /connected analyzer did not answer/
/** Contributes one of each kind and collects the warnings. */
const contributed = async (app: TestApp, words: string) => {
  const { token } = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
  const send = (method: string, path: string, body: unknown) => app.fetch(method, path, { token, body })
  const unit = await send('POST', '/v1/knowledge', objective(words))
  const corrected = await send('PATCH', `/v1/knowledge/${unit.json.data.id}`, {
    unit: { task: { objective: `${words} And again.` } },
  })
  const skill = await send('POST', '/v1/skills', { skill_md: skillMd('a-skill', { body: words }), files: [] })
  const batch = await send('POST', '/v1/knowledge/batch', { units: [trace(), objective(words)] })
  return {
    answers: [unit, corrected, skill, batch],
    warnings: [unit, corrected, skill].map(({ json }) => String(json.warnings)),
    batch: batch.json.data.map(({ warnings }: { warnings?: string[] }) => String(warnings)),
  }
}

test('names found by the analyzer are included in the single warning of each contribution', async () => {
  const { answers, warnings, batch } = await contributed(connected, 'Ask Ada Beispiel at a@b.example.')
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200])
  for (const warning of [...warnings, batch[1]]) {
    expect(warning).toMatch(/(task\.objective|skill_md) \((email, name|name, email)\)/)
    expect(warning.match(/personal data/g)).toHaveLength(1)
    expect(warning).not.toContain('Beispiel')
  }
  expect(batch[0]).toBe('undefined')
  // Without an analyzer nothing is requested and nothing is reported as missing.
  const without = await contributed(plain, 'Ask Ada Beispiel at a@b.example.')
  for (const warning of [...without.warnings, without.batch[1]]) expect(warning).toMatch(/\(email\)\. Remove/)
})

test('feedback of a voter is scanned like the unit', async () => {
  const author = await connected.agent()
  const { token } = await issuedAgent(connected, ['read', 'write'], { owner: await signedIn(connected) })
  const { json } = await connected.fetch('POST', '/v1/knowledge', {
    token: author.token,
    body: { ...trace(), metadata: { ...trace().metadata, visibility: 'network' } },
  })
  const vote = (feedback: string) =>
    connected.fetch('POST', `/v1/knowledge/${json.data.id}/validate`, { token, body: { valid: true, feedback } })
  const refused = await vote(`It worked with ${phrase}`)
  expect(refused.status).toBe(422)
  expect(refused.json).toMatchObject({ code: 'content_rejected', stage: 'secret', field: 'feedback' })
  expect(refused.text).not.toContain('winner')
  const response = await vote('Ada Beispiel (a@b.example) says that it works.')
  expect(response.status, response.text).toBe(201)
  expect(response.json.warnings.join()).toMatch(/feedback \((email, name|name, email)\)/)
  const report = await connected.fetch('POST', `/v1/knowledge/${json.data.id}/report`, {
    token,
    body: { reason: phrase },
  })
  expect(report.json).toMatchObject({ code: 'content_rejected', stage: 'secret', field: 'reason' })
})

const exchange = (app: TestApp, token: string, ...contents: string[]) =>
  app.fetch('POST', '/v1/llm-log', {
    token,
    body: { messages: contents.map((content) => ({ role: 'user', content })) },
  })

test('names are redacted in a logged exchange, and an exchange with a secret is not sent to the analyzer', async () => {
  const { token } = await connected.agent()
  const { status, json } = await exchange(connected, token, 'Ask Ada Beispiel.', 'Who? Ada Beispiel, a@b.example')
  expect(status).toBe(201)
  expect(json.data.redacted).toEqual({ name: 2, email: 1 })
  expect(json.data.degraded).toBeUndefined()
  const { text } = await connected.fetch('GET', `/v1/llm-log/${json.data.id}`, { token })
  expect(text).toContain('Ask ‹name:1›.')
  expect(text).toContain('Who? ‹name:1›, ‹email:1›')
  const before = asked.length
  expect((await exchange(connected, token, 'Ask Ada Beispiel.', phrase)).status).toBe(422)
  expect(asked).toHaveLength(before)
})

test('contributions succeed without the analyzer and report what was not checked', async () => {
  mood = 'broken'
  const { answers, warnings, batch } = await contributed(connected, 'Ask Ada Beispiel at a@b.example.')
  const { token } = await connected.agent()
  const logged = await exchange(connected, token, 'Ask Ada Beispiel at a@b.example.')
  mood = 'well'
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200])
  for (const warning of [...warnings, batch[1]]) {
    expect(warning).toMatch(/\(email\)/)
    expect(warning).toMatch(missing)
  }
  expect(logged.status).toBe(201)
  expect(logged.json.data).toMatchObject({ redacted: { email: 1 }, degraded: ['presidio'] })
})

test('an analyzer that times out three times is temporarily not called', async () => {
  const address = analyzer.address()
  const { recognise } = openPresidio(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
  mood = 'silent'
  const before = asked.length
  const waited = await Promise.all([1, 2, 3].map(() => recognise('Ada Beispiel', 'en')))
  mood = 'well'
  const next = await recognise('Ada Beispiel', 'en')
  expect([waited, next, asked.length - before]).toEqual([[undefined, undefined, undefined], undefined, 3])
})

test('a unit with a secret is rejected by kind and field without repeating it; personal data causes a warning', async () => {
  const { token } = await plain.agent()
  const send = (objective: string, more: object = {}) => {
    return plain.fetch('POST', '/v1/knowledge', { token, body: { ...trace(), task: { objective, ...more } } })
  }
  const refused = await send(`The phrase is ${phrase}.`)
  expect(refused.status).toBe(422)
  expect(refused.json).toMatchObject({
    code: 'content_rejected',
    stage: 'secret',
    field: 'task.objective',
    place: 14,
    issues: [{ path: ['task', 'objective'], message: 'seed_phrase at character 14' }],
  })
  expect(refused.text).not.toContain('winner')
  const named = await send('Sign it', { input_schema: { deployer: { private_key: `0x${'4c08'.repeat(16)}` } } })
  expect(named.json).toMatchObject({ stage: 'secret', field: 'task.input_schema.deployer.private_key' })
  const listed = await send('Sign it', { input_schema: { words: phrase.split(' ') } })
  expect(listed.json).toMatchObject({ stage: 'secret', field: 'task.input_schema.words' })

  const other = await plain.agent()
  const warned = await plain.fetch('POST', '/v1/knowledge', {
    token: other.token,
    body: { ...trace(), task: { objective: 'Write to a@b.example' } },
  })
  expect(warned.status).toBe(201)
  expect(warned.json.warnings.join()).toContain('task.objective (email)')
  const counted = await plain.db.prisma.contentRejection.findMany({ where: { stage: 'secret' } })
  expect(counted).toHaveLength(3)
})

test('skills and batch items are scanned for secrets and personal data', async () => {
  const { token } = await plain.agent()
  const skill = await plain.fetch('POST', '/v1/skills', {
    token,
    body: { skill_md: skillMd('a-skill', { body: phrase }), files: [] },
  })
  expect(skill.json).toMatchObject({ code: 'content_rejected', stage: 'secret', field: 'skill_md' })
  const batch = await plain.fetch('POST', '/v1/knowledge/batch', {
    token,
    body: { units: [trace(), { ...trace(), task: { objective: phrase } }] },
  })
  expect(batch.json).toMatchObject({ stored: 1, failed: 1, data: [{ status: 201 }, { status: 422 }] })
})
