import { describe, expect, it, test } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { Wanted } from './checkpoints.ts'
import { formsOf, isNaming, withoutId } from './needles.ts'
import { isDerived, type Rewriting, rewriteValue } from './rewriting.ts'
import { surveyor } from './survey.ts'

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
  wanted: Wanted = {
    ids: [id, generated, 'HumanMessage', 'langchain_core', 'additional_kwargs'],
    texts: [text, 'completion_tokens_details'],
  },
  more: Partial<Rewriting> = {},
) {
  const reader = surveyor(wanted)
  reader.read(value)
  const how = { doomed: reader.settle().doomed, lists: new Set(['messages']), isLater: true, ...more }
  return rewriteValue(value, name, how)
}

describe('a value', () => {
  test.each<[string, unknown, unknown]>([
    ['that holds nothing of it stays the same thing', { messages: [human()], n: 1 }, { messages: [human()], n: 1 }],
    ['of messages loses those with the id', [human({ id }), human()], [human()]],
    [
      'loses what says the words, however they are written',
      [['user', text], { role: 'user', content: ` ${text} ` }, human({ content: [{ type: 'text', text }] })],
      [],
    ],
    ['loses a removal of it', [constructed('RemoveMessage', { id, content: [] })], []],
    ['that is one message leaves null', { last: human({ id }) }, { last: null }],
    ['that is one message where a list is expected leaves an empty one', { messages: human({ id }) }, { messages: [] }],
    [
      'of a Command keeps its pairs',
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
      'sent to a node with nothing else was not sent',
      [
        { node: 'a', args: human({ id }) },
        { node: 'b', args: { n: 1 } },
      ],
      [{ node: 'b', args: { n: 1 } }],
    ],
    [
      'keeps others’ words around it',
      human({ content: `They wrote: ${text} Why?` }),
      human({ content: 'They wrote: [erased] Why?' }),
    ],
    [
      'loses it in arguments that are JSON in JSON',
      { arguments: JSON.stringify({ q: text, deep: JSON.stringify([text]) }) },
      { arguments: '{"q":"[erased]","deep":"[\\"[erased]\\"]"}' },
    ],
    [
      'loses what stands under a generated id, and of a key that a client’s id names the name alone',
      { [generated]: 1, [id]: 2, '[erased]': 3 },
      { '[erased] 2': 2, '[erased]': 3 },
    ],
    [
      'keeps the words of the libraries, whoever calls a message so',
      constructed('HumanMessage', { content: 'another', additional_kwargs: { completion_tokens_details: 1 } }),
      constructed('HumanMessage', { content: 'another', additional_kwargs: { completion_tokens_details: 1 } }),
    ],
    ['loses its id in lists', { seen: [id, 'x'] }, { seen: ['x'] }],
    [
      'loses entries of a Map, not their pairs',
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
      'empties bytes of it',
      { lc: 2, type: 'constructor', id: ['Uint8Array'], args: [[...Buffer.from(text)]] },
      { lc: 2, type: 'constructor', id: ['Uint8Array'], args: [[]] },
    ],
    [
      'keeps keys that are dangerous as what they are',
      JSON.parse(`{"__proto__": {"id": "${id}"}, "a": "${id}"}`),
      JSON.parse('{"__proto__": {"id": null}, "a": null}'),
    ],
  ])('%s', (_, value, expected) => {
    const before = JSON.stringify(value)
    expect(JSON.stringify(rewritten(value).value)).toBe(JSON.stringify(expected))
    expect(JSON.stringify(value)).toBe(before)
  })

  it('of calls and answers loses all that hang together, and nothing else', () => {
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

  it('of a tool as Anthropic writes it goes with its call', () => {
    const value = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 't', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }], id },
      human(),
    ]
    expect(rewritten(value, 'messages').value).toEqual([human()])
  })

  it('derived from it is emptied, unless it is older; the arguments of a tool are not taken for it', () => {
    const value = {
      summary: 'A person left.',
      context: { running_summary: { summary: 'Left.', count: 2 } },
      said: human({ summary: 'mine' }),
    }
    expect(rewritten({ ...value, id }).value).toEqual({
      ...{
        summary: '',
        context: { running_summary: { summary: '', count: 2 } },
        said: human({ summary: 'mine' }),
        id: null,
      },
    })
    expect(rewritten(value, 'state', undefined, { isLater: false }).isChanged).toBe(false)
    expect(rewritten('A person left.', 'summary').value).toBe('')
  })
})

describe('a name', () => {
  test.each([
    ...[
      'summary',
      'running_summary',
      'summarized',
      'recap',
      'digest',
      'synopsis',
      'abstract',
      'paperAbstract',
      'abstracts',
    ],
    ...[
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
    ],
    ...['résumé', 'résumé'.normalize('NFD'), 'Resumé', 'resumen', 'resumo', 'riassunto', 'samenvatting'],
    ...['摘要', '会话摘要', '总结', '總結', '小结', '小結', '概要', '概述', '要約', '요약', '대화요약'],
  ])('%s tells that what it names was made of messages', (name) => expect(isDerived(name)).toBe(true))
  test.each([
    ...['messages', 'content', 'resume', '__resume__', 'resumed_at', 'registry', 'registered', 'logistics'],
    ...['abstraction', 'outliner', 'recaptcha_token', 'settled_drafts'],
  ])('%s does not', (name) => expect(isDerived(name)).toBe(false))
})

describe('an id', () => {
  test.each([
    [`see ${id}.`, 'see [erased].'],
    [`${id}:1`, '[erased]:1'],
    [`about-${id}`, `about-${id}`],
    [`${id}0`, `${id}0`],
    [`(${id}), "${id}"`, '([erased]), "[erased]"'],
  ])('in %s', (said, expected) => {
    expect(withoutId(said, id)).toBe(expected)
    expect(isNaming(said, id)).toBe(said !== expected)
  })
})

it('a text is found as it is, escaped, and escaped twice, also where only ASCII is written', () => {
  const python = JSON.stringify(text).replace('—', '\\u2014').replace('ü', '\\u00fc').slice(1, -1)
  expect(formsOf(text)).toEqual(expect.arrayContaining([text, JSON.stringify(text).slice(1, -1), python]))
})
