import { describe, expect, it } from 'vitest'
import { editText, readerText } from '#lib/text/views.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

const named = (...names: string[]) => {
  const words = new Fingerprints(Buffer.alloc(8, 7))
  for (const name of names) words.addName(name)
  return words
}

/** The words of an erased name in separate values, records, statements or lines: they belong to two people. */
const separate: [name: string, text: string][] = [
  ['Thomas Martin', '[{"first":"Thomas","last":"Schmidt"},{"first":"Martin","last":"Weber"}]'],
  ['Thomas Weber', '[{"first":"Thomas","last":"Schmidt"},{"first":"Martin","last":"Weber"}]'],
  ['Thomas Weber', '[{"last":"Schmidt","first":"Thomas"},{"last":"Weber","first":"Martin"}]'],
  ['Thomas Weber', '- first name: Thomas\n  last name: Schmidt\n- first name: Martin\n  last name: Weber'],
  ['Thomas Martin', "[('Thomas','Schmidt'),('Martin','Weber')]"],
  ['Thomas Martin', '{"nick":"Thomas"}\n{"nick":"Martin"}'],
  ['Thomas Martin', '{"nick":"Thomas"}\n{"nick":"Martin"}\n{"nick":"Sabine"}'],
  ['Jordan Love', '{"votes":[{"v":1,"by_name":"Jordan"},{"v":2,"by_name":"Love"}]}'],
  ['Anna Lee', '<@U1|Anna> asked <@U2|Lee>'],
  ['Anna Lee', '[quote=Anna]I am here[/quote] and [quote=Lee]me too[/quote]'],
  ['Anna Lee', '[[Anna|she]] and [[Lee|he]]'],
  ['Anna Lee', '10:00 INFO [a] Anna\n10:01 INFO [b] Lee'],
  ['Anna Lee', '10:00 INFO [a] Anna\n10:01 INFO [b] Lee\n10:02 INFO [c] Ben'],
  ['Anna Lee', 'data: {"u":"x","text":"Anna"}\n\ndata: {"u":"y","text":"Lee"}'],
  ['Anna Lee', '{"u":"<b>Anna</b>"}\n{"u":"<b>Lee</b>"}'],
  ['Anna Lee', '<tr><td>Anna</td></tr><tr><td>Lee</td></tr>'],
  ['Anna Lee', 'Anna: Lee is here\nBen: yes'],
  ['Iris Probe', '["Anna","Iris","Probe","Ben"]'],
  ['Iris Probe', "x = ['Anna', 'Iris', 'Probe', 'Ben']"],
  ['Iris Probe', 'Anna: I like Iris\nBen: Probe the engine'],
  ['Iris Probe', JSON.stringify({ log: '["Anna","Iris","Probe","Ben"]' })],
]
/** One name, however it is written. */
const whole: [name: string, text: string, rest: RegExp][] = [
  ['Thomas Martin', '{"first":"Thomas","last":"Martin"}', /Thomas|Martin/],
  ['Thomas Martin', '[{"first":"Anna","last":"Lee"},{"first":"Thomas","last":"Martin"}]', /Thomas|Martin/],
  ['Thomas Martin', '{"name":"Acme","first":"Thomas","last":"Martin"}', /Thomas|Martin/],
  ['Thomas Martin', '{"first":"Thomas","user":{"name":"tm"},"last":"Martin"}', /Thomas|Martin/],
  ['Thomas Martin', 'First name: Thomas\nName: Martin', /Thomas|Martin/],
  ['Thomas Martin', 'Ask Martin, Thomas tomorrow', /Thomas|Martin/],
  ['Thomas Martin', 'Ask Tho<b>mas</b> <i>Mar</i>tin tomorrow', /Tho|tin/],
  ['Thomas Martin', 'Ask **Thomas** Martin tomorrow', /Thomas|Martin/],
  ['Thomas Martin', 'Ask Thomas F. Martin tomorrow', /Thomas|Martin/],
  ['Prof Martin', 'Ask Prof. Martin tomorrow', /Prof|Martin/],
  ['Thomas Martin', 'Ask Thomas\nMartin tomorrow', /Thomas|Martin/],
  ['Chr. Hansen', 'Ask Chr. Hansen tomorrow', /Chr|Hansen/],
  ['Mohd. Rizal', 'Ask Mohd. Rizal tomorrow', /Mohd|Rizal/],
  ['Alex. Martin', 'Ask Alex. Martin tomorrow', /Alex|Martin/],
  ['Capt. Iris Probe', 'Ask Capt. Iris Probe tomorrow', /Iris|Probe/],
  ['Dra. Ana Gómez', 'Ask Dra. Ana Gómez tomorrow', /Ana|Gómez/],
  ['Joh. Bach', 'Ask Joh. Bach tomorrow', /Joh|Bach/],
  ['Жан. Иванова', 'Ask Жан. Иванова tomorrow', /Жан|Иванова/],
  ['Iris Probe', 'N:Probe;Iris;;;', /Iris|Probe/],
  ['Iris Probe', 'id;name;firstname\n7;Probe;Iris;Berlin', /Iris|Probe/],
  ['Iris Probe', 'Probe; Iris', /Iris|Probe/],
  ['Thomas Martin', '{"text":"Ask Thomas Martin tomorrow"}', /Thomas|Martin/],
  ['Thomas Martin', '["Anna","Thomas Martin","Ben"]', /Thomas|Martin/],
  ['Thomas Martin', '[{"name":"Thomas Martin"},{"name":"Ben"}]', /Thomas|Martin/],
  [
    'Thomas Martin',
    ['Ask', ' Tho', 'mas', ' Martin', ' to', 'day'].map((d) => `data: ${JSON.stringify({ delta: d })}`).join('\n\n'),
    /mas|Martin/,
  ],
]

describe('names of which the words belong to two people', () => {
  it.each(separate)('does not cut %s from %s', (name, text) => {
    const words = named(name)
    expect(words.namesIn(text)).toEqual([])
    expect(words.everyNameIn(text).certain).toEqual([])
    expect(editText(text, (one) => words.namesIn(one))).toBe(text)
  })
  it.each([
    'MaryAnn Miller and DeShawn Carter met; see getUserName()',
    'class AnnaLeeSmithController extends AnnaLeeSmithBase {}',
    'call getMaryAnn Miller',
    'const userAnnaLeeSmith = 1',
  ])('cuts no part of the names of programs and people in %s', (text) => {
    const words = named('Ann Miller', 'Shawn Carter', 'Anna Lee')
    expect(editText(text, (one) => words.namesIn(one))).toBe(text)
  })
  it('reads runs in names of programs, and leaves names of people beside them whole', () => {
    const words = new Fingerprints(Buffer.alloc(8, 7))
    words.add('i have a very high fever today')
    expect(words.runsIn('iHaveAVeryHighFeverToday').length).toBeGreaterThan(0)
    expect(readerText('DeShawn McCarter; see getUserName()')).toContain('DeShawn McCarter')
  })
  it('lists them as uncertain', () => {
    const words = named('Iris Probe')
    const text = '["Anna","Iris","Probe","Ben"]'
    const { uncertain } = words.everyNameIn(text)
    const [joined] = uncertain.filter(({ run }) => run < 0)
    expect(text.slice(joined?.start, joined?.end)).toContain('Iris')
    expect(words.nameOf(joined?.run ?? 0)).toBe('uncertain')
    expect(words.uncertainIn(text).map(({ run }) => run)).toContain(joined?.run)
  })
  it.each(whole)('cuts %s from %s', (name, text, rest) => {
    const words = named(name)
    expect(editText(text, (one) => words.namesIn(one))).not.toMatch(rest)
  })
  it.each(['Juergen Mueller', 'Müller, Jürgen', 'Dr. Jürgen Müller', 'juergen mueller', 'Jürgen Müller'])(
    'knows every form of the name of %s',
    (other) => {
      const words = named('Jürgen Müller')
      const forms = new Set(words.formsOf(other))
      for (const text of ['Jürgen Müller', 'Juergen Mueller', 'Müller, Jürgen'])
        for (const { run } of words.namesIn(`ask ${text} tomorrow`)) expect(forms).toContain(run)
      expect(words.formsOf('Anna Schmidt')).toEqual([])
    },
  )
  it('reads a long text of labels', () => {
    const words = named('Iris Probe')
    const text = 'first name: Iris last name: Probe '.repeat(80_000)
    expect(mergeSpans(words.namesIn(text)).length).toBeGreaterThan(100_000)
  })
})
