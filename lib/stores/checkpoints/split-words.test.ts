import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { rewriteValue } from './rewriting.ts'
import { threadScanner } from './thread-scanner.ts'

const sentence = 'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter'
const before = 'Please listen to me for a moment'
const after = 'and now tell me what to do'

const wordsIn = (text: string) =>
  [...text.toLowerCase().matchAll(/[a-z0-9]+/g)].map(({ 0: word, index }) => ({
    word,
    start: index,
    end: index + word.length,
  }))
/** Runs of six words of the sentence, numbered by their first word. */
function runsIn(text: string): ErasedRunMatch[] {
  const [erased, words] = [wordsIn(sentence), wordsIn(text)]
  return words.flatMap(({ start }, at) =>
    erased.flatMap((_, run) => {
      const isRun =
        run + 6 <= erased.length &&
        Array.from({ length: 6 }, (_none, n) => n).every((n) => words[at + n]?.word === erased[run + n]?.word)
      return isRun ? [{ run, start, end: words[at + 5]?.end ?? start }] : []
    }),
  )
}
function rewritten(value: unknown, remaining: string[] = []) {
  const reader = threadScanner({
    ids: [],
    texts: [],
    words: {
      runsIn,
      including: () => {
        throw new Error('no wording')
      },
      explained: async () => new Set<number>(),
      remaining: async () => new Set<string>(),
    },
  })
  const isHit = reader.read(value)
  const { erasedThreads } = reader.settle(new Set(remaining))
  return {
    ...rewriteValue(value, 'state', { erasedThreads, lists: new Set(), isLater: false }),
    isHit,
    runs: reader.runs,
  }
}
const chunk = (content: string, n: number) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', 'AIMessageChunk'],
  kwargs: { content, id: `run-${n}`, additional_kwargs: {}, response_metadata: {} },
})
/** Shapes in which applications store the pieces of a text. */
const shapes: Record<string, (pieces: string[]) => unknown> = {
  'a list of tokens': (pieces) => ({ tokens: pieces }),
  'a nested list': (pieces) => ({ log: [{ step: 1, out: { tokens: pieces } }] }),
  'a list of pairs': (pieces) => pieces.map((text, n) => [n, text]),
  deltas: (pieces) => pieces.map((content, index) => ({ index, delta: { role: 'assistant', content } })),
  'events of a stream': (pieces) =>
    pieces.map((content) => ({ event: 'token', data: { choices: [{ delta: { content } }] } })),
  'message chunks': (pieces) => pieces.map((content, n) => chunk(content, n)),
  'content blocks': (pieces) => ({ type: 'ai', id: 'a', content: pieces.map((text) => ({ type: 'text', text })) }),
  fields: (pieces) => Object.fromEntries(pieces.map((text, n) => [`line${n}`, text])),
}
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : []
}

describe.each(Object.entries(shapes))('rewriteValue for words that are split over %s', (name, shape) => {
  it('removes every run and keeps the words of others', () =>
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 40 }), fc.boolean(), (steps, isPlain) => {
        // Tokens of one to four words, each with its leading space, as models return them.
        const text = isPlain ? sentence : `${before} ${sentence} ${after}`
        const words = text.split(' ')
        const pieces: string[] = []
        for (let at = 0, n = 0; at < words.length; n++) {
          const size = 1 + (steps[n % steps.length] ?? 0)
          pieces.push(`${at === 0 ? '' : ' '}${words.slice(at, at + size).join(' ')}`)
          at += size
        }
        const { value, isChanged, isHit } = rewritten(shape(pieces))
        expect([isChanged, isHit]).toEqual([true, true])
        for (const glue of ['', ' ']) expect(runsIn(stringsOf(value).join(glue))).toEqual([])
        const rest = wordsIn(stringsOf(value).join(' ')).map(({ word }) => word)
        for (const { word } of isPlain ? [] : wordsIn(`${before} ${after}`)) expect(rest).toContain(word)
      }),
      { numRuns: sampledRuns(`words split over ${name}`, 2_000, 50), seed: sampleSeed },
    ))
})

it('rewriteValue removes tokens that end within a word', () => {
  const pieces = sentence.match(/.{1,3}/g) ?? []
  const { value, isChanged } = rewritten({ tokens: ['Hello. ', ...pieces, ' Bye.'] })
  expect(isChanged).toBe(true)
  expect(value).toEqual({ tokens: ['Hello. ', ' Bye.'] })
})

it('rewriteValue keeps the pieces of a message of a remaining author', () => {
  const theirs = { type: 'human', id: 'b', content: sentence.split(' ').map((text) => ({ type: 'text', text })) }
  const { value, isChanged, runs } = rewritten([theirs], ['b'])
  expect([value, isChanged]).toEqual([[theirs], false])
  expect(runs.get('b')?.size).toBeGreaterThan(5)
})

it('rewriteValue returns a value unchanged when its strings contain no run together', () => {
  const value = { tokens: before.split(' '), items: [{ text: 'I have suffered' }, { text: 'from another' }] }
  expect(rewritten(value)).toMatchObject({ value, isChanged: false, isHit: false })
})
