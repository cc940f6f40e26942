import { expect, test } from 'vitest'
import { mergeFindings, type Recognise, type RecognizedName, withNames } from './analyzer.ts'
import { scan } from './scanner.ts'

const person = (text: string, written: string): RecognizedName => {
  const start = text.indexOf(written)
  return { entity: 'PERSON', start, end: start + written.length, score: 0.9 }
}
/** Finds one name anywhere and records its requests. */
function analyzer(answers: (text: string) => boolean = () => true) {
  const asked: string[] = []
  const recognise: Recognise = async (text) => {
    asked.push(text)
    if (!answers(text)) return undefined
    return [...text.matchAll(/Ada Beispiel/g)].map(({ index }) => ({
      entity: 'PERSON',
      start: index,
      end: index + 12,
      score: 0.9,
    }))
  }
  return { asked, recognise }
}

test('merging keeps the words of a name next to an overlapping finding', () => {
  const text = 'Ask Ada Beispiel a@b.example Nobody today'
  const findings = mergeFindings(text, scan(text), [person(text, 'Ada Beispiel a@b.example Nobody')])
  expect(findings.map(({ kind, start, end }) => [kind, text.slice(start, end)])).toEqual([
    ['name', 'Ada Beispiel'],
    ['email', 'a@b.example'],
    ['name', 'Nobody'],
  ])
  expect(mergeFindings(text, scan(text), [{ ...person(text, 'Ada'), score: 0.4 }])).toEqual(scan(text))
  expect(mergeFindings(text, [], [{ ...person(text, 'Ada'), entity: 'NRP' }])).toEqual([])
})

test('many short texts share one request, and each finding is assigned to its own text', async () => {
  const { asked, recognise } = analyzer()
  const texts = [
    'Ada Beispiel did it.',
    'nothing',
    'kp:trace:123',
    '2026-11-22',
    '',
    'By Ada Beispiel and Ada Beispiel',
  ]
  const { findings, missing } = await withNames(
    recognise,
    texts,
    texts.map((text) => scan(text)),
  )
  expect(findings.map((of, at) => of.map(({ start, end }) => texts[at]?.slice(start, end)))).toEqual([
    ['Ada Beispiel'],
    [],
    [],
    [],
    [],
    ['Ada Beispiel', 'Ada Beispiel'],
  ])
  expect([asked.length, missing.size]).toEqual([1, 0])
  // Ids, dates and words without a capital cannot be names and are not sent.
  expect(asked[0]).not.toMatch(/nothing|trace|2026/)
})

test('findings, credentials and numbers of trades are masked for the analyzer without changing offsets', async () => {
  const { asked, recognise } = analyzer()
  const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
  const texts = [
    '👩‍💻 a@b.example wrote to Ada Beispiel.',
    `${phrase}, says Ada Beispiel`,
    'password for the bot: hunter2correct, ask Ada Beispiel',
    'Bought ETH from Ada Beispiel at 2310',
    '👩‍💻 key AKIAIOSFODNN7ABCDEFG of Ada Beispiel',
  ]
  const { findings } = await withNames(
    recognise,
    texts,
    texts.map((text) => scan(text)),
  )
  const names = findings.map((of, at) =>
    of.flatMap(({ kind, start, end }) => (kind === 'name' ? [texts[at]?.slice(start, end)] : [])),
  )
  expect(names).toEqual(texts.map(() => ['Ada Beispiel']))
  expect(asked.join('\n')).not.toMatch(/b\.example|winner|sausage|hunter2|2310|AKIA/)
  expect(asked.join('\n')).toContain('Bought ETH from Ada Beispiel at 0000')
})

test('a long text is sent in concurrent parts split between sentences; excess or unanswered parts are missing', async () => {
  const long = 'Some words, and Ada Beispiel too. '.repeat(3_000)
  const all = analyzer()
  const { findings, missing } = await withNames(all.recognise, [long, 'Ada Beispiel'], [[], []])
  expect([findings[0]?.length, findings[1]?.length, missing.size]).toEqual([3_000, 1, 0])
  expect(all.asked.length).toBe(4)
  const some = analyzer((text) => !text.includes('two '))
  const partly = await withNames(some.recognise, [long, `two ${long}`], [[], []])
  expect([...partly.missing]).toEqual([1])
  expect(partly.findings[0]).toHaveLength(3_000)
  expect(partly.findings[1]?.length).toBeGreaterThan(1_000)
  expect(partly.findings[1]?.length).toBeLessThan(3_000)
  const huge = analyzer()
  const beyond = await withNames(huge.recognise, [long.repeat(20)], [[]])
  expect([huge.asked.length, beyond.missing.size]).toEqual([8, 1])
})

test('without an analyzer nothing is requested and nothing is missing', async () => {
  const ours = [scan('a@b.example')]
  expect(await withNames(undefined, ['a@b.example'], ours)).toEqual({ findings: ours, missing: new Set() })
})
