const bytesOf = (text: string) => [...Buffer.from(text)]
const hex = (value: number, length = 2) => value.toString(16).padStart(length, '0')
export const base64 = (text: string) => Buffer.from(text).toString('base64')
const each = (text: string, write: (sign: string) => string) => [...text].map(write).join('')
const isPlain = (sign: string) => /[A-Za-z0-9 ]/.test(sign)

/** Encodings whose result contains the value where the text contains it, sign by sign. */
export const bySign: Record<string, (text: string) => string> = {
  'percent-encoding': encodeURIComponent,
  'percent-encoding of every sign': (text) =>
    bytesOf(text)
      .map((byte) => `%${hex(byte)}`)
      .join(''),
  'percent-encoding, twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'decimal references': (text) => each(text, (sign) => (isPlain(sign) ? sign : `&#${sign.codePointAt(0)};`)),
  'hexadecimal references': (text) => each(text, (sign) => `&#x${hex(sign.codePointAt(0) ?? 0, 1)};`),
  'named references': (text) =>
    each(text, (sign) => {
      const names: Record<string, string> = { '@': 'commat', '.': 'period', ' ': 'nbsp', ':': 'colon', '"': 'quot' }
      return names[sign] === undefined ? sign : `&${names[sign]};`
    }),
  'escapes of JSON': (text) => each(text, (sign) => (isPlain(sign) ? sign : `\\u${hex(sign.charCodeAt(0), 4)}`)),
  'escapes of JSON for every sign': (text) => each(text, (sign) => `\\u${hex(sign.charCodeAt(0), 4)}`),
  'escaped code points': (text) => each(text, (sign) => `\\u{${hex(sign.codePointAt(0) ?? 0, 1)}}`),
  'escaped bytes': (text) =>
    bytesOf(text)
      .map((byte) => `\\x${hex(byte)}`)
      .join(''),
  'octal escapes': (text) =>
    bytesOf(text)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  'escapes of a shell': (text) => text.replace(/[^\p{L}\p{N}\n]/gu, (sign) => `\\${sign}`),
  'zero-width spaces': (text) => [...text].join('\u200b'),
  'soft hyphens': (text) => text.replace(/(\w{2})(?=\w)/g, '$1\u00ad'),
  'word joiners': (text) => text.replace(/(\w{3})(?=\w)/g, '$1\u2060'),
  'signs of full width': (text) => text.replace(/[!-~]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0)),
  'Arabic digits': (text) => text.replace(/\d/g, (sign) => String.fromCharCode(0x660 + Number(sign))),
  'Devanagari digits': (text) => text.replace(/\d/g, (sign) => String.fromCharCode(0x966 + Number(sign))),
  'mathematical digits': (text) => text.replace(/\d/g, (sign) => String.fromCodePoint(0x1d7ce + Number(sign))),
  'mathematical letters': (text) =>
    text.replace(/[a-z]/g, (sign) => String.fromCodePoint(0x1d5ee + sign.charCodeAt(0) - 97)),
}
/** Encodings of a text as a whole. */
export const asWhole: Record<string, (text: string) => string> = {
  'a form': (text) => `a=1&q=${encodeURIComponent(text).replaceAll('%20', '+')}&z=2`,
  JSON: (text) => JSON.stringify({ a: 1, b: text, c: 2 }),
  'JSON in JSON': (text) => JSON.stringify({ log: JSON.stringify({ b: text }) }),
  'a cell of a table': (text) => `id,x\n7,"${text.replaceAll('"', '""')}"\n`,
  'an attribute': (text) => `<a title="${text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"/>`,
  Base64: base64,
  'Base64 for addresses': (text) => `x.${Buffer.from(text).toString('base64url')}.y`,
  'a data URL': (text) => `{"url":"data:text/plain;base64,${base64(text)}"}`,
  'Base64, twice': (text) => base64(base64(text)),
  'Base64 in lines': (text) =>
    (base64(`Words before the value, which fill the first line. ${text} and after`).match(/.{1,76}/g) ?? []).join('\n'),
  'percent-encoded Base64': (text) => encodeURIComponent(base64(text)),
  hexadecimal: (text) => Buffer.from(text).toString('hex'),
  'a command of PowerShell': (text) => `powershell -enc ${Buffer.from(text, 'utf16le').toString('base64')}`,
}
