import { describe, expect, it, test } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { ThreadSearchTerms } from './checkpoints.ts'
import { isDerived, type Rewriting, rewriteValue } from './rewriting.ts'
import { formsOf, isNaming, withoutId, withoutRuns } from './search-strings.ts'
import { threadScanner } from './thread-scanner.ts'

const text = 'She said "no", and left\nthe house — für immer.'
const id = 'message-number-1'
const generated = newId('msg')
const human = (more: object = {}) => ({ type: 'human', content: 'another', id: 'message-number-2', ...more })
const constructed = (name: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})

function rewritten(
  value: unknown,
  name = 'state',
  wanted: ThreadSearchTerms = {
    ids: [id, generated, 'HumanMessage', 'langchain_core', 'additional_kwargs'],
    texts: [text, 'completion_tokens_details'],
  },
  more: Partial<Rewriting> = {},
) {
  const reader = threadScanner(wanted)
  reader.read(value)
  const how = { erasedThreads: reader.settle().erasedThreads, lists: new Set(['messages']), isLater: true, ...more }
  return rewriteValue(value, name, how)
}

it('rewriteValue keeps every value under the name of an erased person, in records and in maps', () => {
  const runsIn = (one: string) =>
    [...one.matchAll(/maria probe/gi)].map(({ index }) => ({ run: 1, start: index, end: index + 11 }))
  const reader = threadScanner({ ids: [], texts: [] })
  const entries: [string, string][] = [
    ['Maria Probe', 'likes blue'],
    ['MARIA PROBE', 'likes red'],
    ['[erased]', 'likes green'],
    ['to Maria Probe', 'a letter'],
  ]
  const value = {
    record: Object.fromEntries(entries),
    map: { lc: 2, type: 'constructor', id: ['Map'], args: [entries] },
  }
  reader.read(value)
  const { value: after } = rewriteValue(value, 'state', {
    erasedThreads: { ...reader.settle().erasedThreads, runsIn },
    lists: new Set(),
    isLater: false,
  })
  const kept = [
    ['[erased] 2', 'likes blue'],
    ['[erased] 3', 'likes red'],
    ['[erased]', 'likes green'],
    ['to [erased]', 'a letter'],
  ]
  expect(after).toMatchObject({ record: Object.fromEntries(kept), map: { args: [kept] } })
})

describe('rewriteValue', () => {
  test.each<[string, unknown, unknown]>([
    ['returns an unrelated value unchanged', { messages: [human()], n: 1 }, { messages: [human()], n: 1 }],
    ['removes messages with the id', [human({ id }), human()], [human()]],
    [
      'removes messages with the words in any notation',
      [['user', text], { role: 'user', content: ` ${text} ` }, human({ content: [{ type: 'text', text }] })],
      [],
    ],
    ['removes a RemoveMessage of the message', [constructed('RemoveMessage', { id, content: [] })], []],
    ['replaces a single message with null', { last: human({ id }) }, { last: null }],
    ['replaces a single message with an empty list in a list channel', { messages: human({ id }) }, { messages: [] }],
    [
      'keeps the pairs of a Command',
      {
        update: [
          ['messages', human({ id })],
          ['n', 1],
        ],
        goto: ['a'],
      },
      {
        update: [
          ['messages', []],
          ['n', 1],
        ],
        goto: ['a'],
      },
    ],
    [
      'removes a Send without other content',
      [
        { node: 'a', args: human({ id }) },
        { node: 'b', args: { n: 1 } },
      ],
      [{ node: 'b', args: { n: 1 } }],
    ],
    [
      'keeps the surrounding words of another message',
      human({ content: `They wrote: ${text} Why?` }),
      human({ content: 'They wrote: [erased] Why?' }),
    ],
    [
      'removes the text from arguments that are JSON in JSON',
      { arguments: JSON.stringify({ q: text, deep: JSON.stringify([text]) }) },
      { arguments: '{"q":"[erased]","deep":"[\\"[erased]\\"]"}' },
    ],
    [
      'removes an entry under a generated id, and only the key under a client’s id',
      { [generated]: 1, [id]: 2, '[erased]': 3 },
      { '[erased] 2': 2, '[erased]': 3 },
    ],
    [
      'keeps identifiers of the libraries even when a message has them as its id',
      constructed('HumanMessage', { content: 'another', additional_kwargs: { completion_tokens_details: 1 } }),
      constructed('HumanMessage', { content: 'another', additional_kwargs: { completion_tokens_details: 1 } }),
    ],
    ['removes the id from lists', { seen: [id, 'x'] }, { seen: ['x'] }],
    [
      'removes whole entries of a Map',
      {
        lc: 2,
        type: 'constructor',
        id: ['Map'],
        args: [
          [
            [id, 1],
            ['b', 2],
          ],
        ],
      },
      { lc: 2, type: 'constructor', id: ['Map'], args: [[['b', 2]]] },
    ],
    [
      'empties bytes that contain the text',
      { lc: 2, type: 'constructor', id: ['Uint8Array'], args: [[...Buffer.from(text)]] },
      { lc: 2, type: 'constructor', id: ['Uint8Array'], args: [[]] },
    ],
    [
      'keeps dangerous keys as ordinary keys',
      JSON.parse(`{"__proto__": {"id": "${id}"}, "a": "${id}"}`),
      JSON.parse('{"__proto__": {"id": null}, "a": null}'),
    ],
  ])('%s', (_, value, expected) => {
    const before = JSON.stringify(value)
    expect(JSON.stringify(rewritten(value).value)).toBe(JSON.stringify(expected))
    expect(JSON.stringify(value)).toBe(before)
  })

  it('removes tool calls and results that belong together, and nothing else', () => {
    const ai = (...calls: string[]) =>
      constructed('AIMessage', {
        id: `ai-${calls.join('')}`,
        content: '',
        tool_calls: calls.map((call) => ({ id: call, name: 't', args: {} })),
      })
    const tool = (call: string, more: object = {}) =>
      constructed('ToolMessage', { id: `tool-${call}`, tool_call_id: call, content: 'x', ...more })
    const value = [human(), ai('a', 'b'), tool('a', { id }), tool('b'), ai('c'), tool('c')]
    expect(rewritten(value, 'messages').value).toEqual([human(), ai('c'), tool('c')])
  })

  it('removes a tool result in Anthropic’s format together with its call', () => {
    const value = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 't', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }], id },
      human(),
    ]
    expect(rewritten(value, 'messages').value).toEqual([human()])
  })

  it('empties later derived data, and keeps older data and arguments of tools', () => {
    const value = {
      summary: 'A person left.',
      context: { running_summary: { summary: 'Left.', count: 2 } },
      said: human({ summary: 'mine' }),
    }
    expect(rewritten({ ...value, id }).value).toEqual({
      summary: '',
      context: { running_summary: { summary: '', count: 2 } },
      said: human({ summary: 'mine' }),
      id: null,
    })
    expect(rewritten(value, 'state', undefined, { isLater: false }).isChanged).toBe(false)
    expect(rewritten('A person left.', 'summary').value).toBe('')
  })
})

describe('isDerived', () => {
  test.each([
    'summary',
    'running_summary',
    'summarized',
    'recap',
    'digest',
    'synopsis',
    'abstract',
    'paperAbstract',
    'abstracts',
    'gist',
    'theGist',
    'outline',
    'chat-outline',
    'tldr',
    'TL;DR',
    'tl_dr',
    'tlDr',
    'Zusammenfassung',
    'kurzfassung',
    'résumé',
    'résumé'.normalize('NFD'),
    'Resumé',
    'resumen',
    'resumo',
    'riassunto',
    'samenvatting',
    '摘要',
    '会话摘要',
    '总结',
    '總結',
    '小结',
    '小結',
    '概要',
    '概述',
    '要約',
    '요약',
    '대화요약',
  ])('returns true for %s', (name) => expect(isDerived(name)).toBe(true))
  test.each([
    'messages',
    'content',
    'resume',
    '__resume__',
    'resumed_at',
    'registry',
    'registered',
    'logistics',
    'abstraction',
    'outliner',
    'recaptcha_token',
    'settled_drafts',
  ])('returns false for %s', (name) => expect(isDerived(name)).toBe(false))
})

describe('withoutId and isNaming', () => {
  test.each([
    [`see ${id}.`, 'see [erased].'],
    [`${id}:1`, '[erased]:1'],
    [`about-${id}`, `about-${id}`],
    [`${id}0`, `${id}0`],
    [`(${id}), "${id}"`, '([erased]), "[erased]"'],
  ])('handle the id in %s', (said, expected) => {
    expect(withoutId(said, id)).toBe(expected)
    expect(isNaming(said, id)).toBe(said !== expected)
  })
})

describe('rewriteValue reads neighboring strings together', () => {
  const names = ['Maria Probe', 'Probe Maria']
  const runsIn = (one: string) =>
    names.flatMap((name, run) =>
      [...one.matchAll(RegExp(name, 'gi'))].map(({ index }) => ({ run, start: index, end: index + name.length })),
    )
  const words: NonNullable<ThreadSearchTerms['words']> = {
    runsIn,
    isName: () => true,
    including: () => words,
    explained: async () => new Set(),
    remaining: async () => new Set(),
  }
  const rest = (value: unknown) => rewritten(value, 'state', { ids: [], texts: [], words }).value
  const map = (entries: unknown) => ({ lc: 2, type: 'constructor', id: ['Map'], args: [entries] })
  it.each<[string, unknown, unknown]>([
    ['names in a list', ['Maria Probe', 'MARIA PROBE', 'Otto'], ['Otto']],
    ['a name that is divided', ['Maria', 'Probe', 'Otto'], ['Otto']],
    ['a name beside a divided one', ['see Maria Probe', 'Maria', 'Otto'], ['see', 'Otto']],
    ['markup beside a divided name', ['<p>Maria Probe</p> is', 'Otto Maria', 'Probe'], ['<p>[erased]</p> is', 'Otto']],
    [
      'keys of a map',
      map([
        ['Maria Probe', 'blue'],
        ['MARIA PROBE', 'red'],
      ]),
      map([
        ['[erased]', 'blue'],
        ['[erased] 2', 'red'],
      ]),
    ],
    [
      'keys and values of a map',
      map([
        ['is Maria', 'Probe or blue'],
        ['b', 'red'],
      ]),
      map([
        ['is', 'or blue'],
        ['b', 'red'],
      ]),
    ],
  ])('%s', (_, before, after) => {
    const trimmed = JSON.stringify(rest(before)).replaceAll(/" | "/g, '"')
    expect(JSON.parse(trimmed)).toEqual(after)
  })
  it('every name stays distinct when 2,000 become equal', () => {
    const cases = Array.from({ length: 2_000 }, (_, n) =>
      Array.from('maria probe', (letter, at) => ((n >> at) % 2 ? letter.toUpperCase() : letter)).join(''),
    )
    const distinct = [...new Set(cases)]
    expect(distinct.length).toBeGreaterThan(1_000)
    const after = Object.keys(rest(Object.fromEntries(distinct.map((name, n) => [name, n]))) as object)
    expect(after[0]).toBe('[erased]')
    expect(after.at(-1)).toBe(`[erased] ${distinct.length}`)
  })
})

it('formsOf returns the text unescaped and escaped, also with ASCII only', () => {
  const python = JSON.stringify(text).replace('—', '\\u2014').replace('ü', '\\u00fc').slice(1, -1)
  expect(formsOf(text)).toEqual(expect.arrayContaining([text, JSON.stringify(text).slice(1, -1), python]))
})

it('withoutRuns cuts a name from the name of a property, but not the words of which its value is derived', () => {
  const runsOf = (words: string) => (of: string) => {
    const start = of.indexOf(words)
    return start < 0 ? [] : [{ run: 1, start, end: start + words.length }]
  }
  const question = 'Why does the cellar of the house flood every spring'
  expect(withoutRuns(JSON.stringify({ [question]: 'Call a plumber.' }), runsOf(question))).toBeUndefined()
  expect(withoutRuns('{"Maria Probe":"Otto"}', runsOf('Maria Probe'))).toBe('{"[erased]":"Otto"}')
})
