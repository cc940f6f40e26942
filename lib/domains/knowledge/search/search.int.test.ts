import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { pattern, sop, trace } from '#lib/testing/units.ts'
import { searchWordsDataSource } from '../personal-data.ts'
import { gatherWords, regatherWords } from './jobs.ts'
import { recountScopes } from './repository.ts'

let test: TestApp
/** `owner`, `author` and `colleague` belong to one organisation. */
let owner: Person
let author: Issued
let colleague: Issued
/** `stranger` and `admin` belong to other organizations. */
let stranger: Issued
let admin: Issued

beforeAll(async () => {
  test = await testApp()
  owner = await signedIn(test)
  author = await agent(owner)
  const another = await signedIn(test, 'person', owner.organisationId)
  colleague = await agent(another)
  stranger = await agent()
  admin = await issuedAgent(test, ['read', 'admin'], { tier: 'enterprise' })
})
afterAll(() => test.close())

const agent = (of?: Person): Promise<Issued> =>
  issuedAgent(test, ['read', 'write'], { tier: 'enterprise', ...(of && { owner: of }) })

/** Contributes a trace with this objective; returns its id. */
async function contribute(
  objective: string,
  {
    by = author,
    visibility = 'network',
    more = {},
    meta = {},
  }: { by?: Issued; visibility?: string; more?: object; meta?: object } = {},
): Promise<string> {
  const body = trace({ task: { objective }, ...more }, { visibility, ...meta })
  return stored(body, by)
}
async function stored(body: unknown, by = author): Promise<string> {
  const made = await test.fetch('POST', '/v1/knowledge', { token: by.token, body })
  expect(made.status, made.text).toBe(201)
  return String(made.json.data.id)
}

type Who = { token: string } | { cookie: string }
type SearchParameters = Record<string, string | number>
const list = (asked: SearchParameters, who: Who | undefined = author) =>
  test.fetch('GET', `/v1/knowledge?${new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)]))}`, who && ('token' in who ? { token: who.token } : { cookie: who.cookie })) // biome-ignore format: one call
async function found(asked: SearchParameters | string, who: Who = author): Promise<string[]> {
  const answer = await list(typeof asked === 'string' ? { q: asked } : asked, who)
  expect(answer.status).toBe(200)
  return answer.json.data.map(({ id }: { id: string }) => id)
}
async function work(name: string): Promise<void> {
  const job = test.app.jobs.find((one) => one.name === name)
  if (!job) throw new Error(`there is no job ${name}`)
  await job.execute(test.app.pipeline, {})
}
const gather = () => work('knowledge.gather-words')
const wordsOf = async (like: string): Promise<string[]> =>
  (
    await test.db.query<{ scope: string; word: string }>(
      undefined,
      'SELECT scope, word FROM search_words WHERE word = $1 ORDER BY 1',
      [like],
    )
  ).map(({ scope }) => scope)

describe('finding', () => {
  it('finds a unit by words of all its texts regardless of case, accents and endings, and highlights them', async () => {
    const id = await contribute('The résumé parser forgets umlauts', {
      more: {
        steps: [
          { step_id: 0, type: 'tool_call', tool: { name: 'grepWalker' }, input: { nested: [{ deeply: 'zirconium' }] } },
          { step_id: 1, type: 'observation', content: 'It printed "Grüße".', output_summary: 'obsidian' },
        ],
      },
    })
    for (const q of [
      'RESUME parsers',
      'umlaut',
      'grepwalker',
      'walker',
      'zirconium',
      'deeply',
      'grusse',
      'obsidian',
      id,
    ])
      expect(await found(q), q).toContain(id)
    const { json } = await list({ q: 'umlaut forgets' })
    const [first] = json.data
    expect(first).toMatchObject({
      id,
      agent_id: author.id,
      visibility: 'network',
      snippet: { text: 'The résumé parser forgets umlauts' },
    })
    const { text, highlights } = first.snippet
    expect(highlights.map(({ start, end }: { start: number; end: number }) => text.slice(start, end))).toEqual([
      'forgets',
      'umlauts',
    ])
    expect(first.unit.id).toBe(id)
    expect(first.score).toBeGreaterThan(0)
    expect(json).toMatchObject({ total: 1, offset: 0, limit: 20, next_cursor: null })
  })

  it.each([
    ['readConfigFile', ['readConfigFile', 'read_config_file', 'config', 'readconfigfile']],
    ['max_open_tabs', ['max_open_tabs', 'maxOpenTabs', 'tabs']],
    ['quux.corge.grault', ['quux.corge.grault', 'corge', '"quux.corge"']],
  ])('finds the identifier %s as a whole and by its parts', async (identifier, asked) => {
    const id = await contribute(`About ${identifier} alone`)
    for (const q of asked) expect(await found(q), q).toContain(id)
  })

  it.each([
    [
      'Chinese',
      '构建失败，因为锁文件过期了，需要重新生成依赖。',
      ['构建', '锁文件', '失败', '过期', '依赖', '重新生成', '锁', '构建失败的依赖'],
    ],
    ['Japanese', 'リンカーの更新後にビルドが遅くなった原因を調査する', ['リンカー', 'ビルド', '原因', '調査', '遅く']],
    ['Thai', 'การสร้างโปรแกรมล้มเหลวเพราะไฟล์ล็อกหมดอายุ', ['โปรแกรม', 'ล้มเหลว', 'ไฟล์']],
    ['Korean', '빌드가 실패했습니다', ['빌드가', '실패했습니다']],
    ['Russian', 'Сборка завершилась ошибкой компоновщика', ['сборка', 'компоновщика']],
    ['Persian', 'ساخت برنامه شکست خورد', ['برنامه']],
  ])('finds words of a text in %s', async (_language, objective, asked) => {
    const id = await contribute(objective)
    for (const q of asked) {
      const { json } = await list({ q })
      expect(
        json.data.map((one: { id: string }) => one.id),
        q,
      ).toContain(id)
      expect(json.data.find((one: { id: string }) => one.id === id).snippet.highlights.length, q).toBeGreaterThan(0)
    }
  })

  it('requires all words; if no unit has all, ranks units with the rarest word first', async () => {
    const both = await contribute('The kestrel watches the marmot')
    const one = await contribute('The kestrel sleeps')
    expect(await found('kestrel marmot')).toEqual([both])
    expect(new Set(await found('kestrel'))).toEqual(new Set([both, one]))
    const neither = await contribute('A pangolin')
    // Words without any match are dropped; words never found together are searched separately.
    expect(await found('marmot tardigrade kestrel')).toEqual([both])
    expect(new Set(await found('marmot pangolin tardigrade'))).toEqual(new Set([both, neither]))
    expect(await found('tardigrade')).toEqual([])
  })

  it('ranks matches in the objective first, and adjacent words higher if typed as a phrase', async () => {
    const elsewhere = await contribute('Something else', {
      more: { outcome: { result_summary: 'with a basilisk', confidence: 0.9 } },
    })
    const about = await contribute('A basilisk')
    expect(await found('basilisk')).toEqual([about, elsewhere])
    const apart = await contribute('heron beside the lake and an egret')
    const together = await contribute('an egret heron and, further on, more about lakes and what lives in them')
    expect((await found('"egret heron"'))[0]).toBe(together)
    expect(await found('"egret heron"')).toContain(apart)
  })

  it('returns nothing for a word that no unit has', async () => {
    await contribute('plain')
    expect(await found('nothing-has-this-word-at-all-xyzzy')).toEqual([])
  })
})

describe('typing errors', () => {
  it.each([
    ['photosyntehsis', 'photosynthesis', true],
    // The stem of the word, which matches directly.
    ['photosynthesi', 'photosynthesis', false],
    ['fotosynthesis', 'photosynthesis', true],
    ['chlorphyll', 'chlorophyll', true],
  ])('finds %s as %s, and reports the correction', async (typed, meant, isCorrected) => {
    const id = await contribute(`All about ${meant} in leaves`)
    await gather()
    const { json } = await list({ q: typed })
    expect(json.data.map((one: { id: string }) => one.id)).toContain(id)
    expect(json.corrected).toEqual(isCorrected ? [{ from: typed, to: meant }] : undefined)
  })

  it('does not correct a word that has a match', async () => {
    const id = await contribute('petrichor')
    const other = await contribute('petrichur')
    await gather()
    const { json } = await list({ q: 'petrichur' })
    expect(json.data.map((one: { id: string }) => one.id)).toEqual([other])
    expect(json.corrected).toBeUndefined()
    expect(await found('petrichor')).toEqual([id])
  })

  it('never corrects to a word that only occurs in hidden units (private, of another organization, quarantined, restricted)', async () => {
    const restricted = await agent()
    await contribute('abracadabrant', { visibility: 'private' })
    await contribute('hocuspocusly', { visibility: 'org' })
    const held = await contribute('simsalabimbam')
    await contribute('opensesamic', { by: restricted })
    await gather()
    await test.db.query(undefined, 'UPDATE units SET quarantined_at = now() WHERE id = $1', [held])
    await test.db.query(undefined, 'UPDATE agents SET restricted_at = now() WHERE id = $1', [restricted.id])
    await gather()
    for (const typed of ['abracadabrnt', 'hocuspocsly', 'simsalabimbm', 'opensesmic']) {
      const { json, text } = await list({ q: typed }, stranger)
      expect([json.total, json.corrected, text.includes('corrected')], typed).toEqual([0, undefined, false])
    }
    // Readers who can see the units get the correction.
    for (const typed of ['abracadabrnt', 'hocuspocsly', 'simsalabimbm'])
      expect(await found(typed), typed).toHaveLength(1)
    expect(await found('opensesmic', restricted)).toHaveLength(1)
  })
})

describe('quarantined units', () => {
  const holdBack = (id: string) =>
    test.db.query(undefined, 'UPDATE units SET quarantined_at = now() WHERE id = $1', [id])

  it.each([
    ['held from the start', true],
    ['held after its words were gathered', false],
  ])(
    'do not affect others: a word that occurs only in a unit that is %s is corrected like an unknown word',
    async (_when, isFirst) => {
      const shown = await contribute('kubernetes', { by: stranger })
      const hidden = await contribute('kubernetez')
      if (isFirst) await holdBack(hidden)
      await gather()
      if (!isFirst) await holdBack(hidden)
      for (const typed of ['kubernetez', 'kubernetex']) {
        const { json } = await list({ q: typed }, colleague)
        expect(
          json.data.map(({ id }: { id: string }) => id),
          typed,
        ).toContain(shown)
        expect(
          json.data.map(({ id }: { id: string }) => id),
          typed,
        ).not.toContain(hidden)
        expect(json.corrected, typed).toEqual([{ from: typed, to: 'kubernetes' }])
      }
      for (const id of [shown, hidden]) await test.db.query(undefined, 'DELETE FROM units WHERE id = $1', [id])
    },
  )

  it('affect scores by their word counts only for their author', async () => {
    const own = await contribute('thylacoleonid', { by: stranger, visibility: 'private' })
    await gather()
    await recountScopes(test.db, {})
    const score = async () => (await list({ q: 'thylacoleonid' }, stranger)).json.data[0]
    const before = await score()
    for (let n = 0; n < 3; n++) await holdBack(await contribute('thylacoleonid'))
    await gather()
    await recountScopes(test.db, {})
    expect(await wordsOf('thylacoleonid')).toEqual([`agent:${author.id}`, `agent:${stranger.id}`].sort())
    const after = await score()
    expect([after.id, after.score]).toEqual([own, before.score])
  })
})

describe('access', () => {
  const word = 'wombatine'
  let network: string
  let org: string
  let own: string
  let held: string
  let paused: string
  let pausedAuthor: Issued
  beforeAll(async () => {
    pausedAuthor = await agent(owner)
    network = await contribute(`${word} for all`)
    org = await contribute(`${word} for us`, { visibility: 'org' })
    own = await contribute(`${word} for me`, { visibility: 'private' })
    held = await contribute(`${word} held`)
    paused = await contribute(`${word} paused`, { by: pausedAuthor })
    await test.db.query(undefined, 'UPDATE units SET quarantined_at = now() WHERE id = $1', [held])
    await test.db.query(undefined, 'UPDATE agents SET restricted_at = now() WHERE id = $1', [pausedAuthor.id])
  })

  it.each([
    ['the author', () => author, () => [network, org, own, held]],
    ['its owner', () => owner, () => [network, org, own, held, paused]],
    ['a colleague', () => colleague, () => [network, org]],
    ['a stranger', () => stranger, () => [network]],
    ['an admin', () => admin, () => [network, org]],
    ['the restricted author', () => pausedAuthor, () => [network, org, paused]],
  ])('lets %s find and list exactly the visible units', async (_who, who: () => Who, seen: () => string[]) => {
    expect(new Set(await found({ q: word, limit: 100 }, who()))).toEqual(new Set(seen()))
    const all = new Set([network, org, own, held, paused])
    const { json } = await list({ agent_id: author.id, limit: 100 }, who())
    const ofAuthor = seen().filter((id) => id !== paused)
    expect(
      json.data
        .map(({ id }: { id: string }) => id)
        .filter((id: string) => all.has(id))
        .sort(),
    ).toEqual(ofAuthor.sort())
    const newest: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { json: { data: { id: string }[]; next_cursor: string | null } } = await list(
        { limit: 100, ...(cursor && { cursor }) },
        who(),
      )
      newest.push(...page.json.data.map(({ id }) => id))
      cursor = page.json.next_cursor
    }
    expect(newest.filter((id) => all.has(id)).sort()).toEqual(seen().sort())
  })

  it('the visibility filter only narrows results', async () => {
    expect(await found({ q: word, visibility: 'private' })).toEqual([own])
    expect(await found({ q: word, visibility: 'org' }, colleague)).toEqual([org])
    expect(await found({ q: word, visibility: 'private' }, colleague)).toEqual([])
    expect(await found({ q: word, visibility: 'private' }, admin)).toEqual([])
    expect(await found({ q: word, visibility: 'network' }, admin)).toEqual([network])
    expect(await found({ visibility: 'org', agent_id: author.id }, stranger)).toEqual([])
  })

  it('anonymous readers are rejected until an admin allows them, and then only see network units', async () => {
    const anonymous = (asked: string) => test.fetch('GET', `/v1/knowledge?${asked}`)
    expect((await anonymous(`q=${word}`)).status).toBe(401)
    const person = await signedIn(test, 'admin')
    await test.fetch('PATCH', '/v1/settings', { ...person, body: { anonymous_reading: true } })
    await vi.waitUntil(async () => (await anonymous(`q=${word}`)).status === 200, 120_000)
    const answer = await anonymous(`q=${word}`)
    expect(answer.json.data.map(({ id }: { id: string }) => id)).toEqual([network])
    await test.fetch('PATCH', '/v1/settings', { ...person, body: { anonymous_reading: false } })
  })

  it('a token without the scope is rejected', async () => {
    const writer = await issuedAgent(test, ['write'])
    const answer = await list({ q: word }, writer)
    expect([answer.status, answer.json.code]).toEqual([403, 'scope_too_small'])
  })

  it('an erased unit and its words can no longer be found immediately after the erasure', async () => {
    const id = await contribute('The last ichthyosaur')
    const other = await contribute('ichthyosaur and a plesiosaur', { visibility: 'private' })
    await gather()
    expect(await wordsOf('ichthyosaur')).toEqual([`agent:${author.id}`, 'network'])
    expect((await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })).status).toBe(204)
    expect(await found('ichthyosaur')).toEqual([other])
    expect(await found('ichthyosaur', colleague)).toEqual([])
    expect(await wordsOf('ichthyosaur')).toEqual([`agent:${author.id}`])
  })

  it('the audit log records a search without its words', async () => {
    const searcher = await agent()
    await list({ q: word }, searcher)
    const entries = await test.db.prisma.auditEntry.findMany({ where: { agentId: searcher.id } })
    expect(entries.map(({ action, resourceType, resourceId }) => [action, resourceType, resourceId])).toEqual([
      ['read', 'knowledge', 'query'],
    ])
    expect(entries[0]?.details).toMatchObject({ operation: 'listUnits', count: 1 })
    expect(JSON.stringify(entries)).not.toContain(word)
  })
})

describe('filters', () => {
  it('each excludes non-matching units, with and without a search', async () => {
    const by = await agent()
    const word = 'filterfish'
    const a = await contribute(word, { by, meta: { task_domain: 'biology' } })
    const b = await stored(pattern({ name: word }, { task_domain: 'biology' }), by)
    const c = await stored(sop({ name: word }, { task_domain: 'cooking' }), by)
    await test.db.query(
      undefined,
      "UPDATE units SET quality_score = 0.9, created_at = created_at - interval '1 day' WHERE id = $1",
      [c],
    )
    const day = new Date(test.clock.now().getTime() - 3_600_000).toISOString()
    const cases: [SearchParameters, string[]][] = [
      [{ types: 'ToolCallPattern' }, [b]],
      [{ types: 'ReasoningTrace, ExpertSOP' }, [a, c]],
      [{ domain: 'biology' }, [a, b]],
      [{ min_quality: 0.9 }, [c]],
      [{ from: day }, [a, b]],
      [{ to: day }, [c]],
      [{ domain: 'cooking', types: 'ReasoningTrace' }, []],
    ]
    for (const [asked, ids] of cases) {
      expect((await found({ ...asked, q: word })).sort(), JSON.stringify(asked)).toEqual(ids.sort())
      const { json } = await list({ ...asked, agent_id: by.id })
      expect(json.data.map(({ id }: { id: string }) => id).sort(), JSON.stringify(asked)).toEqual(ids)
      expect(json.total).toBe(ids.length)
    }
  })
})

describe('pages', () => {
  const word = 'pagination'
  const all: string[] = []
  let by: Issued
  beforeAll(async () => {
    by = await agent()
    for (let n = 0; n < 23; n++) {
      all.push(await contribute(`${word} number ${n}`, { by, visibility: n % 3 === 0 ? 'private' : 'network' }))
      if (n % 2 === 0) test.clock.advance(1_000)
    }
  })

  it.each([
    ['a search', { q: word }],
    ['a list', { agent_id: '' }],
    ['a list of all scopes', {}],
  ])('the cursor pages through %s without gaps or duplicates', async (_what, asked: SearchParameters) => {
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const parameters: SearchParameters = {
        ...asked,
        ...('agent_id' in asked && { agent_id: by.id }),
        limit: 5,
        ...(cursor && { cursor }),
      }
      const answer: {
        json: { data: { id: string; created_at: string }[]; total: number; next_cursor: string | null }
      } = await list(parameters, by)
      const times = answer.json.data.map(({ created_at }) => created_at)
      if (!('q' in asked)) expect(times).toEqual(times.toSorted().reverse())
      seen.push(...answer.json.data.map(({ id }) => id))
      cursor = answer.json.next_cursor
    }
    expect(pages).toBeGreaterThan(4)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter((id) => all.includes(id)).toSorted()).toEqual(all.toSorted())
  })

  it('offset and limit return the exact range', async () => {
    const whole = await found({ q: word, limit: 100 }, by)
    expect(whole).toHaveLength(23)
    expect(await found({ q: word, limit: 4, offset: 6 }, by)).toEqual(whole.slice(6, 10))
    const { json } = await list({ q: word, offset: 1_000 }, by)
    expect([json.data, json.total, json.next_cursor]).toEqual([[], 23, null])
    const listed = await found({ agent_id: by.id, limit: 100 }, by)
    expect(await found({ agent_id: by.id, limit: 4, offset: 6 }, by)).toEqual(listed.slice(6, 10))
  })

  it('a page of very large units ends early and the next page continues', async () => {
    const large = await agent()
    const words = Array.from({ length: 5_000 }, () => Math.random().toString(36).slice(2, 12)).join(' ')
    const random = () => `${words} `.repeat(30)
    for (let n = 0; n < 4; n++)
      await contribute('mammothian', {
        by: large,
        visibility: 'private',
        more: { steps: [{ step_id: 0, type: 'thought', content: random() }] },
      })
    const first = await list({ q: 'mammothian' }, large)
    expect(first.json.data.length).toBeLessThan(4)
    const rest = await found({ q: 'mammothian', cursor: first.json.next_cursor }, large)
    expect(new Set([...first.json.data.map(({ id }: { id: string }) => id), ...rest]).size).toBe(4)
  })

  it('a cursor that was altered, belongs to another search or is invalid is rejected', async () => {
    const { json } = await list({ q: word, limit: 5 }, by)
    const listed = await list({ agent_id: by.id, limit: 5 }, by)
    const cases: SearchParameters[] = [
      { q: word, cursor: `${json.next_cursor}x` },
      { q: word, cursor: json.next_cursor.slice(0, -2) },
      { q: word, cursor: Buffer.from('[100,"x"]').toString('base64url') },
      { q: 'number', cursor: json.next_cursor },
      { q: word, domain: 'code', cursor: json.next_cursor },
      { q: word, cursor: listed.json.next_cursor },
      { cursor: json.next_cursor },
      { cursor: `${listed.json.next_cursor}AAAA` },
      { cursor: 'nonsense' },
      { cursor: Buffer.from('[1e99,"kp:trace:x"]').toString('base64url') },
      { q: word, cursor: json.next_cursor, offset: 5 },
    ]
    for (const asked of cases) {
      const answer = await list(asked, by)
      expect([answer.status, answer.json.code, answer.json.issues[0].path[0]], JSON.stringify(asked)).toEqual([
        422,
        'invalid',
        'query',
      ])
    }
    expect((await list({ q: word, cursor: json.next_cursor }, stranger)).status).toBe(422)
  })
})

describe('invalid input', () => {
  it.each([
    ['empty', ''],
    ['spaces', '   '],
    ['wildcards', '*** ??? %%% ___'],
    ['quotes', '"\'"\'`"""'],
    ['signs of a query language', '& | ! ( ) <-> :* \\'],
    ['ten thousand words', 'word '.repeat(10_000)],
    ['emoji', '🦊🦊'],
  ])('a search for %s returns 422 naming the parameter', async (_what, q) => {
    const answer = await list({ q })
    expect([answer.status, answer.json.code, answer.json.issues[0].path]).toEqual([422, 'invalid', ['query', 'q']])
  })

  it.each([
    ['one letter', 'a'],
    ['five hundred words', 'ab '.repeat(330)],
    ['hundreds of words', Array.from({ length: 160 }, (_, n) => `w${n}`).join(' ')],
    ['an unclosed quote', '"linker'],
    ['words with signs', "linker' OR 1=1; -- :* & | !('"],
    ['a backslash', 'back\\slash \\\\ linker'],
    ['one very long word', 'x'.repeat(1_000)],
    ['very long Chinese', '构'.repeat(1_000)],
    ['combining marks', `a${'\u0301'.repeat(900)}`],
    ['half a character', 'a\ud800b'],
    ['all of it at once', '"构建*" %linker_ \ufffe (a|b) ก้'],
  ])('a search for %s returns 200', async (_what, q) => {
    // A statement that takes 15 seconds is cancelled, and the response is then 503.
    expect((await list({ q })).status).toBe(200)
  })

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', 'many'],
    ['offset', '-1'],
    ['offset', '10001'],
    ['types', 'Poem'],
    ['min_quality', '2'],
    ['visibility', 'secret'],
    ['from', 'yesterday'],
    ['to', '+275760-09-13T00:00:00Z'],
    ['surprise', '1'],
  ])('%s=%s returns 422 naming it', async (name, value) => {
    const answer = await list({ [name]: value })
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, ['query', name]])
  })
})

describe('the word table of the search', () => {
  it('gets a new word by the job, and loses an old word with the correction itself', async () => {
    const id = await contribute('an embarrassing zygomorphic mistake')
    expect(await wordsOf('zygomorph')).toEqual([])
    await gather()
    expect(await wordsOf('zygomorph')).toEqual(['network'])
    const { status } = await test.fetch('PATCH', `/v1/knowledge/${id}`, {
      token: author.token,
      body: { unit: { task: { objective: 'a corrected actinomorphic text' } } },
    })
    expect(status).toBe(200)
    expect(await wordsOf('zygomorph')).toEqual([])
    expect(await found('zygomorphic')).toEqual([])
    await gather()
    expect(await wordsOf('actinomorph')).toEqual(['network'])
  })

  it('follows a change of a unit’s visibility', async () => {
    const id = await contribute('a nictitating membrane')
    await gather()
    await test.fetch('PATCH', `/v1/knowledge/${id}`, { token: author.token, body: { visibility: 'private' } })
    expect(await wordsOf('nictit')).toEqual([])
    await gather()
    expect(await wordsOf('nictit')).toEqual([`agent:${author.id}`])
  })

  it('keeps a word while any unit has it and removes it with the last, also for concurrent erasures', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, n) => contribute(`sesquipedalian ${n}`)))
    await gather()
    for (const id of ids.splice(0, 3)) {
      await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })
      await gather()
      expect(await wordsOf('sesquipedalian')).toEqual(['network'])
    }
    const deleted = await Promise.all([
      ...ids.map((id) => test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })),
      gather(),
    ])
    expect(deleted.slice(0, -1).map((answer) => (typeof answer === 'object' ? answer.status : 0))).toEqual(
      ids.map(() => 204),
    )
    expect(await wordsOf('sesquipedalian')).toEqual([])
    await gather()
    expect(await wordsOf('sesquipedalian')).toEqual([])
  })

  it('never gets a word from a unit that is being erased, in either order', async () => {
    const gather = () => gatherWords(test.db)
    // The job runs first: the erasure waits until the words are stored, then deletes them.
    const first = await contribute('a xenolithic first')
    const client = await test.db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT gather_words(1000)')
      const erased = test.fetch('DELETE', `/v1/knowledge/${first}`, { token: author.token })
      await blockedBy(client)
      await client.query('COMMIT')
      expect((await erased).status).toBe(204)
      expect(await wordsOf('xenolith')).toEqual([])
      // The erasure runs first: the job skips the unit without waiting and finds nothing of it later.
      const second = await contribute('a xenolithic second')
      await client.query('BEGIN')
      await client.query('DELETE FROM units WHERE id = $1', [second])
      // If the job waited for this transaction, the database's lock timeout would cancel it.
      await gather()
      await client.query('COMMIT')
      await gather()
      expect(await wordsOf('xenolith')).toEqual([])
      expect(await test.db.query(undefined, 'SELECT 1 FROM search_news WHERE id = $1', [second])).toEqual([])
      // Recovering lost words skips the unit as well, although neither table mentions it.
      const third = await contribute('a xenolithic third')
      await gather()
      await test.db.query(undefined, "DELETE FROM search_words WHERE word = 'xenolith'")
      await client.query('BEGIN')
      await client.query('DELETE FROM units WHERE id = $1', [third])
      await regatherWords(test.db)()
      await client.query('COMMIT')
      expect(await wordsOf('xenolith')).toEqual([])
      // The same with a concurrent change of the text: the old word is not stored again.
      const fourth = await contribute('a xenolithic fourth')
      await gather()
      await test.db.query(undefined, "DELETE FROM search_words WHERE word = 'xenolith'")
      await client.query('BEGIN')
      await client.query("UPDATE units SET search = 'another:1A' WHERE id = $1", [fourth])
      await regatherWords(test.db)()
      await client.query('COMMIT')
      await gather()
      expect(await wordsOf('xenolith')).toEqual([])
    } finally {
      client.release(true)
    }
  })

  it('the job does not wait for transactions that delete words, and continues later', async () => {
    const former = await contribute('a yttrocrasitic unit')
    await gather()
    const client = await test.db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('DELETE FROM units WHERE id = $1', [former])
      const latter = await contribute('another yttrocrasitic unit')
      // If the job waited for this transaction, the database's lock timeout would cancel it.
      expect(await gatherWords(test.db)).toBe(0)
      await client.query('COMMIT')
      expect(await gatherWords(test.db)).toBeGreaterThan(0)
      expect(await test.db.query(undefined, "SELECT bearer FROM search_words WHERE word = 'yttrocrasit'")).toEqual([
        { bearer: latter },
      ])
    } finally {
      client.release(true)
    }
  })

  it('the job blocks nobody: units and SOPs are changed, voted on and erased concurrently without errors', async () => {
    let isOver = false
    const gathering = (async () => {
      for (let n = 0; !isOver || n === 0; n++) await gatherWords(test.db)
    })()
    const statuses: number[] = []
    const changing = async (n: number) => {
      for (let round = 0; round < 10; round++) {
        const id = await contribute(`beside the job ${n} ${round}`)
        const patched = await test.fetch('PATCH', `/v1/knowledge/${id}`, {
          token: author.token,
          body: { unit: { task: { objective: `changed beside the job ${n} ${round}` } } },
        })
        const { json } = await test.fetch('POST', '/v1/sop', {
          token: author.token,
          body: sop({ name: `Beside the job ${n} ${round}` }),
        })
        const put = await test.fetch('PUT', `/v1/sop/${json.data.id}`, {
          token: author.token,
          body: sop({ name: `Changed beside the job ${n} ${round}` }),
        })
        const erased = await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })
        statuses.push(patched.status, put.status, erased.status)
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map(changing))
    isOver = true
    await gathering
    expect(Object.groupBy(statuses, String)).toEqual({
      200: Array.from({ length: 120 }, () => 200),
      204: Array.from({ length: 60 }, () => 204),
    })
  })

  it('units with tens of thousands of invented words do not block concurrent erasures, changes and searches', async () => {
    const invented = (n: number) =>
      Array.from({ length: 48_000 }, (_, at) => (at * 4 + n + 500_000).toString(36)).join(' ')
    const own = await Promise.all([0, 1, 2].map((n) => contribute(`an axolotlish unit ${n}`)))
    const ids: string[] = []
    for (const n of [0, 1, 2, 3])
      ids.push(
        await contribute('invented', {
          by: stranger,
          more: { steps: [{ step_id: 0, type: 'thought', content: invented(n) }] },
        }),
      )
    await gather()
    // A statement that waits 14 seconds for a lock is cancelled, and the response is then 503.
    const answers = await Promise.all([
      ...ids.map((id) => test.fetch('DELETE', `/v1/knowledge/${id}`, { token: stranger.token })),
      ...own.map((id) =>
        test.fetch('PATCH', `/v1/knowledge/${id}`, {
          token: author.token,
          body: { unit: { task: { objective: 'still axolotlish' } } },
        }),
      ),
      list({ q: 'axolotlish' }),
      gatherWords(test.db).then(() => ({ status: 200 })),
    ])
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 200, 200, 200, 200, 200])
  })

  it('stores the first words of each unit by weight, and no data', async () => {
    const emails = (n: number) =>
      n
        .toString(26)
        .replace(/[0-9a-p]/g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)))
        .padStart(4, 'a')
    const many = Array.from({ length: 3_000 }, (_, n) => `quagga${emails(n)}x`)
    const id = await contribute('vicunaesque utf8 a1b2c3d4', {
      visibility: 'private',
      more: { steps: [{ step_id: 0, type: 'thought', content: many.join(' ') }] },
    })
    await gather()
    const held = await test.db.query<{ word: string }>(undefined, 'SELECT word FROM search_words WHERE bearer = $1', [
      id,
    ])
    const words = held.map(({ word }) => word)
    expect(words.length).toBeLessThanOrEqual(1_000)
    expect(words.length).toBeGreaterThan(900)
    expect(words).toContain('vicunaesqu')
    expect(words).toContain('utf8')
    expect(words).not.toContain('a1b2c3d4')
    expect(await found(many.at(-1) ?? '')).toEqual([id])
  })

  it('is not quoted in the records of an erasure', async () => {
    const id = await contribute('a rhododendron secret')
    await gather()
    const erased = await test.fetch('DELETE', `/v1/knowledge/${id}`, {
      token: author.token,
      headers: { Prefer: 'return=representation' },
    })
    const words = erased.json.stores.find(({ holder }: { holder: string }) => holder === 'knowledge.words')
    expect(words).toMatchObject({ found: 1, deleted: 1, residue: 0 })
    const [row] = await test.db.query<{ plan: unknown }>(undefined, 'SELECT plan FROM erasures WHERE deleted_id = $1', [
      id,
    ])
    expect(JSON.stringify([row, erased.json])).not.toContain('rhododendron')
  })

  it('immediately loses the words of rows deleted in bulk', async () => {
    const ids = await Promise.all(['a', 'b'].map((one) => contribute(`the floccinaucinihil word ${one}`)))
    await gather()
    expect(await wordsOf('floccinaucinihil')).toEqual(['network'])
    await test.db.query(undefined, 'DELETE FROM units WHERE id = ANY($1)', [ids])
    expect(await wordsOf('floccinaucinihil')).toEqual([])
  })

  it('reports residue of a unit to any process until the residue is erased', async () => {
    const id = await contribute('a defenestrated residue')
    await gather()
    const dataSource = searchWordsDataSource(test.db)
    const now = test.clock.now()
    const plan = await test.db.transaction((tx) => dataSource.plan({ unit: id }, tx, now))
    expect(plan).toEqual({ items: [id], held: {} })
    expect(await dataSource.residue({ unit: id }, plan.items, now)).toBeGreaterThan(0)
    await test.db.transaction((tx) => dataSource.erase({ unit: id }, plan.items, tx))
    expect(await dataSource.residue({ unit: id }, plan.items, now)).toBe(0)
    expect(await wordsOf('defenestr')).toEqual([])
    await test.db.query(undefined, 'DELETE FROM units WHERE id = $1', [id])
  })

  it('an erasure runs no query whose cost grows with the number of words', async () => {
    await test.db.query(
      undefined,
      "INSERT INTO search_words (scope, word, units, bearer) SELECT 'network', 'filler' || n, 1, 'kp:trace:filler' FROM generate_series(1, 50000) AS n",
    )
    const client = await test.db.pool.connect()
    try {
      await client.query('SET enable_seqscan = off')
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        "EXPLAIN DELETE FROM search_words WHERE bearer = ANY (ARRAY['kp:trace:a'])",
      )
      expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('search_words_bearer_idx')
    } finally {
      client.release(true)
      await test.db.query(undefined, "DELETE FROM search_words WHERE bearer = 'kp:trace:filler'")
    }
  })

  it('gets the words of units stored before the search existed from the index job', async () => {
    const id = await contribute('an antediluvian unit')
    await test.db.query(undefined, 'UPDATE units SET search = NULL WHERE id = $1', [id])
    expect(await found('antediluvian')).toEqual([])
    await work('knowledge.index-words')
    expect(await found('antediluvian')).toEqual([id])
  })
})

describe('novelty', () => {
  const text = (n: number) =>
    Array.from(
      { length: 40 },
      (_, at) => `noveltyword${String.fromCharCode(97 + (at % 26))}${String.fromCharCode(97 + n)}${at}`,
    ).join(' ')
  const noveltyOf = async (id: string) =>
    await test.db.prisma.unit.findUniqueOrThrow({ where: { id }, select: { novelty: true, qualityScore: true } })

  it('is high for new content and low for a copy in the same domain, and changes the quality', async () => {
    const meta = { task_domain: 'novelty' }
    const original = await contribute(text(0), { meta })
    const copy = await contribute(text(0), { meta, by: stranger })
    const other = await contribute(text(1), { meta })
    const elsewhere = await contribute(text(0), { meta: { task_domain: 'another domain' } })
    const before = await noveltyOf(copy)
    await work('knowledge.novelty')
    const after = await noveltyOf(copy)
    expect(after.novelty).toBeLessThan(0.1)
    expect(after.qualityScore).toBeLessThan(before.qualityScore)
    expect((await noveltyOf(original)).novelty).toBeGreaterThan(0.6)
    expect((await noveltyOf(other)).novelty).toBeGreaterThan(0.6)
    expect((await noveltyOf(elsewhere)).novelty).toBeGreaterThan(0.6)
  })

  it('reveals nothing about a unit that the contributor may not see', async () => {
    const meta = { task_domain: 'novelty kept' }
    await contribute(text(2), { meta, visibility: 'private' })
    await contribute(text(3), { meta, visibility: 'org' })
    const [guess, other, own] = [
      await contribute(text(2), { meta, by: stranger }),
      await contribute(text(3), { meta, by: stranger, visibility: 'private' }),
      await contribute(text(2), { meta, visibility: 'private' }),
    ]
    await work('knowledge.novelty')
    expect((await noveltyOf(guess)).novelty).toBeGreaterThan(0.6)
    expect((await noveltyOf(other)).novelty).toBeGreaterThan(0.6)
    expect((await noveltyOf(own)).novelty).toBeLessThan(0.1)
  })
})
