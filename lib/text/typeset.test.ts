import { describe, expect, it } from 'vitest'
import { editText, readerText, searchViews, spokenTexts, viewsOf } from './views.ts'

const rtf = (body: string, head = '') => `{\\rtf1\\ansi${head} ${body}\\par}`
const lastOf = (text: string) => viewsOf(text).layers.at(-1)?.text ?? ''
const cutFrom = (text: string, words: string) =>
  editText(text, (one) =>
    searchViews(one, (view) => {
      const start = view.indexOf(words)
      return start < 0 ? [] : [{ start, end: start + words.length }]
    }),
  )

describe('RTF', () => {
  it('keeps the text when a name in the data about the document is cut', () => {
    const text = '{\\rtf1{\\info{\\author Anna Lee}} The report of Bob about the engine\\par}'
    expect(cutFrom(text, 'Anna Lee')).toBe(text.replace('Anna Lee', ''))
  })
  it.each([
    ['a comment', '{\\*\\annotation{\\*\\atnref 1}\\pard Anna wrote this}'],
    ['a text box', '{\\shp{\\*\\shpinst\\shpleft0{\\sp{\\sn fFlipH}{\\sv 0}}{\\shptxt\\pard Anna wrote this\\par}}}'],
    ['text in Unicode', '{\\upr{Anna ???}{\\*\\ud{Anna wrote this}}}'],
    ['a footnote', '{\\footnote Anna wrote this}'],
  ])('reads %s', (_name, group) => {
    const text = rtf(`The engine ${group}runs.`)
    expect(spokenTexts(text).join('\n')).toContain('Anna wrote this')
    expect(lastOf(text)).not.toContain('*')
    expect(cutFrom(text, 'Anna wrote this')).toBe(text.replace('Anna wrote this', ''))
  })
  it('joins the text before and after a comment, without the text of the comment', () => {
    expect(readerText(rtf('The eng{\\*\\annotation Anna wrote this}ine runs.'))).toContain('The engine runs.')
  })
  it('finds words in the instruction of a field, but does not return it as text that a person wrote', () => {
    const text = rtf('See {\\field{\\*\\fldinst HYPERLINK "https://example.org/anna"}{\\fldrslt her page}}.')
    expect(lastOf(text)).toContain('example.org/anna')
    expect(spokenTexts(text).join('\n')).not.toContain('HYPERLINK')
    expect(readerText(text)).toContain('See her page.')
  })
  it('does not read fonts, colors and images', () => {
    const text = rtf('Words', '{\\fonttbl{\\f0 Arial;}}{\\colortbl;\\red0;}{\\*\\themedata 504b}{\\pict\\pngblip 8950}')
    expect(lastOf(text)).not.toMatch(/Arial|504b|8950/)
  })
  it('cuts words from the description of an image', () => {
    const properties = '{\\*\\picprop{\\sp{\\sn wzDescription}{\\sv Photo of Anna Lee}}}'
    const text = rtf(`Words{\\pict${properties}\\pngblip 8950}`)
    expect(cutFrom(text, 'Anna Lee')).toBe(text.replace('Anna Lee', ''))
  })
  it.each([
    ['the document', "\\'ef\\'f0\\'e8\\'e2\\'e5\\'f2", '\\ansicpg1251', 'привет'],
    [
      'a font',
      "\\f1 \\'ef\\'f0\\'e8\\'e2\\'e5\\'f2",
      '{\\fonttbl{\\f0 Arial;}{\\f1\\fnil\\fcharset204 Arial;}}',
      'привет',
    ],
    ['a Macintosh', "M\\'9fller", '\\mac', 'Müller'],
    ['two bytes', "\\'93\\'fa\\'96{\\b \\'93\\'fa}", '\\ansicpg932', '日'],
    ['no code page', "M\\'fcller", '', 'Müller'],
  ])('decodes characters in the encoding of %s', (_name, body, head, words) => {
    expect(readerText(rtf(body, head))).toContain(words)
  })
  it('ends the number of replacing characters with its group', () => {
    expect(readerText(rtf('{\\uc0 x\\u252 y}Max M\\u252?ller'))).toContain('xüyMax Müller')
  })
  it('reads a text of many groups in short time', () => {
    const text = `{\\rtf1 ${'{\\*\\a '.repeat(20_000)}Anna`
    expect(lastOf(text)).toContain('Anna')
  })
})
