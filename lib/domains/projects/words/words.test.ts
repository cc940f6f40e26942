import { describe, expect, it } from 'vitest'
import { halfRuns, tokenize } from '#lib/text/words.ts'
import { cutFrom, decideDerivedText } from './derived-text.ts'
import { Fingerprints, mergeSpans, occurrences } from './fingerprints.ts'
import { formsOf } from './remaining-texts.ts'

const erased = 'I suffer from Morbus Crohn and sleep in room 77 since spring.'
const answer = 'Thank you for telling us. We will book another room for you.'
const fingerprintsOf = (...texts: string[]) => {
  const found = new Fingerprints()
  for (const text of texts) found.add(text)
  return found
}
const textIn = (text: string, spans: readonly { start: number; end: number }[]) =>
  spans.map(({ start, end }) => text.slice(start, end))

const weightOf = (text: string) => {
  const weights = tokenize(text).map(({ weight }) => weight)
  return { weight: weights.reduce((sum, one) => sum + one, 0), last: weights.at(-1) ?? 0 }
}
const isIn = (text: string, stretch: string) => occurrences(text, stretch).length > 0
/** Shorter than a run, and long enough to identify its author. */
const isStoredWhole = (text: string) =>
  weightOf(text).weight < 24 && tokenize(text).reduce((sum, { word }) => sum + word.length + 1, -1) >= 20

describe('tokenize', () => {
  it('folds case, punctuation, spacing, compatibility forms and apostrophes', () => {
    const words = (text: string) => tokenize(text).map(({ word }) => word)
    expect(words('Don’t — STOP,\n  ﬁne（ｏｋ）')).toEqual(['dont', 'stop', 'fine', 'ok'])
    expect(words("don't stop fine ok")).toEqual(words('Don’t — STOP,\n  ﬁne（ｏｋ）'))
  })
  it('returns one token per character for Chinese, Japanese and Thai, and words for Arabic and Hindi', () => {
    expect(tokenize('我住在77号').map(({ word }) => word)).toEqual(['我', '住', '在', '77', '号'])
    expect(tokenize('ฉันป่วย').length).toBeGreaterThan(3)
    expect(tokenize('أنا مريض منذ الربيع')).toHaveLength(4)
    expect(tokenize('मुझे नींद नहीं आती')).toHaveLength(4)
  })
  it('returns the same tokens for an ASCII text with and without other characters', () => {
    const text = "It's 3.5 km -- DON'T 'stop' a_b x'y'z '' rock'n'roll"
    const whole = tokenize(`${text} é`).slice(0, -1)
    expect(tokenize(text)).toEqual(whole)
  })
  it('returns no tokens for emoji and punctuation', () => {
    expect(tokenize('👍🏽 … !!! —')).toEqual([])
  })
})

describe('Fingerprints', () => {
  it('finds a run of six words in any case, punctuation and spacing', () => {
    const text = 'He wrote: "MORBUS  Crohn and\nsleep in room" yesterday'
    expect(textIn(text, mergeSpans(fingerprintsOf(erased).runsIn(text)))).toEqual(['MORBUS  Crohn and\nsleep in room'])
  })
  it('does not find five words', () => {
    expect(fingerprintsOf(erased).runsIn('Morbus Crohn and sleep in bed')).toEqual([])
  })
  it('finds 24 characters of Chinese, but not 23', () => {
    const text = '我从春天开始就患有克罗恩病，住在七十七号房间，晚上睡不好觉，也吃不下饭'
    const found = fingerprintsOf(text)
    const characters = tokenize(text)
    const part = (count: number) => `他说${text.slice(characters[3]?.start, characters[3 + count - 1]?.end)}了`
    expect(found.runsIn(part(24))).toHaveLength(1)
    expect(found.runsIn(part(23))).toEqual([])
  })
  it('finds a whole text that is shorter than a run if it has at least 20 characters', () => {
    expect(fingerprintsOf('My daughter has leukaemia').runsIn('user: my daughter has leukaemia!')).toHaveLength(1)
    expect(fingerprintsOf('yes').runsIn('yes')).toEqual([])
  })
  it('finds names of any length, but only as whole words', () => {
    const found = new Fingerprints()
    found.addName('Jo Li')
    found.addName('jo@example.com')
    expect(textIn('Ask Jo Li or JO@example.com', found.namesIn('Ask Jo Li or JO@example.com'))).toEqual([
      'Jo Li',
      'JO@example.com',
    ])
    expect(found.namesIn('Jolie likes Jo')).toEqual([])
  })
  it('is unchanged by toBytes and fromBytes, whose bytes contain no word', () => {
    const found = fingerprintsOf(erased, 'My daughter has leukaemia')
    found.addName('Jo Li')
    const again = Fingerprints.fromBytes(found.toBytes())
    expect(again.runsIn(erased)).toEqual(found.runsIn(erased))
    expect(again.runsIn('my daughter has leukaemia')).toHaveLength(1)
    expect(again.namesIn('Jo Li')).toHaveLength(1)
    expect(found.toBytes().toString('latin1')).not.toMatch(/morbus|leukaemia|jo li/i)
    expect(new Fingerprints().isEmpty).toBe(true)
  })
  it('finds the same runs as a comparison of every part, in words, in characters and in both', () => {
    const some = ['room', 'Crohn', 'in', '77', '病', '住', "don't", 'ﬁne', '病房']
    let state = 7
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 16) % below
    }
    const textOf = (length: number) => Array.from({ length }, () => some[next(some.length)]).join(next(2) ? ' ' : ', ')
    let found = 0
    for (let n = 0; n < 60; n++) {
      const [one, short, text] = [textOf(14), textOf(5), `${textOf(next(20))} ${n % 3 === 0 ? textOf(12) : ''}`]
      const words = fingerprintsOf(one, short)
      const whole = n % 2 === 0 ? `${text} ${one.slice(3)} ${short} ${text}` : text
      const tokens = tokenize(whole)
      const expected = tokens.some(({ start }, from) =>
        tokens.slice(from, from + 24).some(({ end }) => {
          const stretch = whole.slice(start, end)
          const isWhole = occurrences(short, stretch).length > 0 && tokenize(stretch).length === tokenize(short).length
          const { weight, last } = weightOf(stretch)
          const isRunLong = weight >= 24 && weight - last < 24
          return (isWhole && isStoredWhole(short)) || (isRunLong && [one, short].some((of) => isIn(of, stretch)))
        }),
      )
      expect(words.runsIn(whole).length > 0, whole).toBe(expected)
      if (expected) found++
    }
    expect(found).toBeGreaterThan(20)
    expect(found).toBeLessThan(60)
  })
  it('gives two installations different fingerprints of the same text', () => {
    expect(fingerprintsOf(erased).runsIn(erased)[0]?.run).not.toBe(fingerprintsOf(erased).runsIn(erased)[0]?.run)
  })
  it('stores 10,000 runs without a collision', () => {
    const text = Array.from({ length: 10_005 }, (_, at) => `word${at}`).join(' ')
    const found = fingerprintsOf(text)
    expect(new Set(found.runsIn(text).map(({ run }) => run)).size).toBe(10_000)
    expect(found.runsIn(text.replaceAll('word', 'other'))).toEqual([])
  })
})

describe('halfRuns', () => {
  it('returns pieces of runs such that every run contains one of them', () => {
    const tokens = tokenize(erased)
    const pieces = halfRuns(erased)
    for (let from = 0; from + 6 <= tokens.length; from++) {
      const run = erased.slice(tokens[from]?.start, tokens[from + 5]?.end)
      expect(pieces.some((piece) => occurrences(run, piece).length > 0)).toBe(true)
    }
  })
})

describe('cutFrom', () => {
  const cut = (text: string, ...texts: string[]) =>
    cutFrom(text, mergeSpans(texts.flatMap((sought) => occurrences(text, sought))))
  it.each([
    [`user: ${erased}\nassistant: ${answer}`, `assistant: ${answer}`],
    [`Anna Schmidt (patient): "${erased}"\nBen: ${answer}`, `Ben: ${answer}`],
    [`[2026-01-02 10:30] Anna: ${erased}\n[2026-01-02 10:31] Ben: ${answer}`, `[2026-01-02 10:31] Ben: ${answer}`],
    [`Ben: ${answer}\nAnna: ${erased}`, `Ben: ${answer}`],
    [`${answer} ${erased}`, answer],
  ])('removes words together with their speaker label', (text, rest) => {
    expect(cut(text, erased)).toBe(rest)
  })
  it.each([
    [`Yesterday he told me this: ${erased}\nBen: ${answer}`, `Yesterday he told me this:\nBen: ${answer}`],
    [`then alpha; beta nu: ${erased}\n${answer}`, `then alpha; beta nu:\n${answer}`],
    [`{\\rtf1 then alpha; beta nu: ${erased}\\par}`, '{\\rtf1 then alpha; beta nu:\\par}'],
    [`قال لي صديقي أمس: ${erased}\n${answer}`, `قال لي صديقي أمس:\n${answer}`],
  ])('keeps words of others that end in a colon', (text, rest) => {
    expect(cut(text, erased)).toBe(rest)
  })
  it.each(["maria d'angelo", "Maria d'Angelo", 'Omar ibn Said', 'Jan ter Horst', 'Anna v. Berg', 'speaker 2'])(
    'returns null when only the label %s would remain',
    (speaker) => {
      expect(cut(`${speaker}: ${erased}`, erased)).toBeNull()
    },
  )
  it('returns null when only labels would remain', () => {
    expect(cut(`user: ${erased}\nassistant: ${answer}`, erased, answer)).toBeNull()
    expect(cut(`user: ${erased}\nassistant:`, erased)).toBeNull()
    expect(cut(erased, erased)).toBeNull()
  })
  it('removes every occurrence', () => {
    expect(cut(`Anna: ${erased}\nBen: ${answer}\nAnna: ${erased}`, erased)).toBe(`Ben: ${answer}`)
  })
  it('keeps JSON valid', () => {
    const rest = cut(
      JSON.stringify([
        { role: 'user', content: erased },
        { role: 'assistant', content: answer },
      ]),
      erased,
    )
    expect(JSON.parse(rest ?? '')).toEqual([
      { role: 'user', content: '' },
      { role: 'assistant', content: answer },
    ])
  })
})

describe('decideDerivedText', () => {
  const turn = `user: ${erased}\nassistant: ${answer}`
  const none = new Set<number>()
  const decide = (text: string, more: Partial<Parameters<typeof decideDerivedText>[0]> = {}, explained = none) =>
    decideDerivedText({ text, isNamed: false, named: [], remaining: [], ...more }, fingerprintsOf(erased), explained)
  it('cuts a turn when words of another author remain, whether or not provenance names it', () => {
    const cut = { decision: 'cut', text: `assistant: ${answer}` }
    expect(decide(turn, { isNamed: true, named: [erased], remaining: [answer] })).toEqual(cut)
    expect(decide(turn, { remaining: [answer] })).toEqual(cut)
  })
  it('deletes a turn when no known author wrote the rest', () => {
    expect(decide(turn, { isNamed: true, named: [erased] })).toEqual({ decision: 'deleted' })
    expect(decide(turn)).toEqual({ decision: 'deleted' })
  })
  it('deletes a summary of both texts that contains no words of either author', () => {
    const summary = 'The patient has a chronic illness and gets another room.'
    expect(decide(summary, { isNamed: true, named: [erased], remaining: [answer] })).toEqual({ decision: 'deleted' })
  })
  it('retains another author’s episode when provenance wrongly names the erased message', () => {
    expect(decide(`Ben: ${answer}`, { isNamed: true, named: [erased], remaining: [answer] })).toEqual({
      decision: 'retained',
    })
  })
  it('retains words that another author also wrote', () => {
    const found = fingerprintsOf(erased)
    const explained = new Set(found.runsIn(`Ben quotes: ${erased}`).map(({ run }) => run))
    const text = { text: `Ben quotes: ${erased}`, isNamed: false, named: [], remaining: [] }
    expect(decideDerivedText(text, found, explained)).toEqual({ decision: 'retained' })
  })
  // Rule: a run that also occurs in another author's own text is explained by that author and does not count as erased.
  it('retains an unreported episode when another author’s remaining message has all its words', () => {
    const found = fingerprintsOf(erased)
    const explained = new Set(found.runsIn(erased).map(({ run }) => run))
    const unreported = { text: `user: ${erased}`, isNamed: false, named: [], remaining: [erased] }
    expect(decideDerivedText(unreported, found, explained)).toEqual({ decision: 'retained' })
    expect(decideDerivedText({ ...unreported, remaining: [] }, found, none)).toEqual({ decision: 'deleted' })
    const reported = { ...unreported, isNamed: true, named: [erased] }
    expect(decideDerivedText(reported, found, explained)).toEqual({ decision: 'deleted' })
  })
  it('keeps an answer whose beginning or end is that of another erased message', () => {
    const next = 'Thank you for asking, it is worse when it rains.'
    const found = fingerprintsOf(erased, `${erased}\n${next}`)
    const remaining = [answer]
    const cut = { decision: 'cut', text: `Ben: ${answer}` }
    const text = `Ada: ${erased}\nBen: ${answer}`
    expect(decideDerivedText({ text, isNamed: false, named: [], remaining, persons: remaining }, found, none)).toEqual(
      cut,
    )
    const before = 'Is it the other one? I want another room for you.'
    const both = fingerprintsOf(erased, `${before}\n${erased}`)
    const mirrored = `Ben: ${answer}\nAda: ${erased}`
    const by = { isNamed: true, named: [erased], remaining, persons: remaining }
    expect(decideDerivedText({ text: mirrored, ...by }, both, none)).toEqual(cut)
  })
  it('an assistant that repeats short messages keeps none of their words', () => {
    const [one, other] = ['I have a cold', 'since June, and it hurts']
    const found = fingerprintsOf(`${one}\n${other}`)
    const text = { text: `user: ${one}\nuser: ${other}`, isNamed: false, named: [], remaining: [one, other] }
    expect(decideDerivedText(text, found, none)).toEqual({ decision: 'deleted' })
    expect(decideDerivedText({ ...text, persons: [one, other] }, found, none)).not.toEqual({ decision: 'deleted' })
  })
  it('cuts the erased line and keeps another author’s quotation of it', () => {
    const quote = `You wrote: "${erased}" ${answer}`
    const found = fingerprintsOf(erased)
    const explained = new Set(found.runsIn(quote).map(({ run }) => run))
    const text = { text: `Anna: ${erased}\nBen: ${quote}`, isNamed: true, named: [erased], remaining: [quote] }
    expect(decideDerivedText(text, found, explained)).toEqual({ decision: 'cut', text: `Ben: ${quote}` })
  })
  it('cuts a message of one word only if provenance names it', () => {
    const short = new Fingerprints()
    short.add('yes')
    const text = { text: `user: yes\nassistant: ${answer}`, named: ['yes'], remaining: [answer] }
    expect(decideDerivedText({ ...text, isNamed: true }, short, none)).toEqual({
      decision: 'cut',
      text: `assistant: ${answer}`,
    })
    expect(decideDerivedText({ ...text, isNamed: false }, short, none)).toEqual({ decision: 'untouched' })
  })
  it.each(['support agent', 'user 1', 'ai assistant', 'john smith', "Maria d'Angelo"])(
    'keeps a remaining text after the label %s',
    (label) => {
      const text = { text: `${label}: ${answer}`, isNamed: true, named: [erased], remaining: [answer] }
      expect(decideDerivedText(text, fingerprintsOf(erased), none)).toEqual({ decision: 'retained' })
    },
  )
  it.each(['', '[erased]'])('keeps the answer of an assistant in which %j replaced the name', (mark) => {
    const found = fingerprintsOf(erased)
    found.addName('Iris Probe')
    const named = 'Thank you Iris Probe. We will book another room for you.'
    const rest = named.replace('Iris Probe', mark)
    const text = { text: rest, isNamed: true, named: [erased], remaining: formsOf(named, found, mark) }
    expect(decideDerivedText(text, found, none)).toEqual({ decision: 'retained' })
  })
})

describe('a name in separate fields', () => {
  it.each([
    'first_name: Iris, last_name: Probe',
    'last name: Probe; first name: Iris',
    '{"first_name": "Iris", "last_name": "Probe"}',
    'Vorname: Iris\nStrasse: Mill Lane 14\nNachname: Probe',
    '<td>Nachname</td><td>Probe</td><td>Vorname</td><td>Iris</td>',
  ])('is found in %s', (text) => {
    const names = new Fingerprints()
    names.addName('Iris Probe')
    expect(names.namesIn(text).length).toBeGreaterThan(0)
  })
  it('is not found when the fields contain another name', () => {
    const names = new Fingerprints()
    names.addName('Iris Probe')
    expect(names.namesIn('first_name: Iris, last_name: Other, city: Probe')).toEqual([])
  })
})

it('mergeSpans returns any number of spans', () => {
  const spans = Array.from({ length: 300_000 }, (_, at) => ({ start: at * 2, end: at * 2 + 1 }))
  expect(mergeSpans(spans)).toHaveLength(300_000)
})

it('decideDerivedText deletes a text if the name of a property contains erased words', () => {
  const question = 'Why does the cellar of the house on Mill Lane flood every spring?'
  const others = 'Otto prefers the blue curtains in the kitchen because they keep the heat out.'
  const text = JSON.stringify({ [question]: 'You should call a plumber.', b: others })
  const from = { text, isNamed: false, named: [], remaining: [others] }
  expect(decideDerivedText(from, fingerprintsOf(question), new Set())).toEqual({ decision: 'deleted' })
})
