import { isUtf8 } from 'node:buffer'
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'

/**
 * The searchable text of a stored value. `text`: the complete value, which can be cut. `packed`: text from a compressed or encoded value.
 * `binary`: only the readable parts; the rest (encrypted, compressed otherwise, an image) is not searched.
 */
export interface Readable {
  form: 'text' | 'packed' | 'binary'
  text: string
}

/** Maximum size of an unpacked value in bytes. */
const maxUnpacked = 8 * 1024 * 1024
const limits = { maxOutputLength: maxUnpacked }
const magics: [magic: number[], unpack: (bytes: Buffer) => Buffer][] = [
  [[0x1f, 0x8b], (bytes) => gunzipSync(bytes, limits)],
  [[0x28, 0xb5, 0x2f, 0xfd], (bytes) => zstdDecompressSync(bytes, limits)],
  [[0x78, 0x01], (bytes) => inflateSync(bytes, limits)],
  [[0x78, 0x9c], (bytes) => inflateSync(bytes, limits)],
  [[0x78, 0xda], (bytes) => inflateSync(bytes, limits)],
]

function unpacked(bytes: Buffer): Buffer | undefined {
  for (const [magic, unpack] of magics)
    if (magic.every((byte, at) => bytes[at] === byte))
      try {
        return unpack(bytes)
      } catch {
        return undefined // damaged, or larger than the bound
      }
  return undefined
}

const utf16 = (bytes: Buffer): string | undefined => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  return first === 0xfe && second === 0xff ? new TextDecoder('utf-16be').decode(bytes) : undefined
}
/** One long word of Base64 or hexadecimal characters: encoded or encrypted. */
const encoded = /^[A-Za-z0-9+/_-]{64,}={0,2}\s*$/

export function readable(bytes: Buffer, depth = 0): Readable {
  if (depth < 3) {
    const inner = unpacked(bytes)
    if (inner !== undefined) return packed(readable(inner, depth + 1))
  }
  const wide = utf16(bytes)
  if (wide !== undefined) return { form: 'packed', text: wide }
  const text = bytes.toString()
  if (!isUtf8(bytes) || text.includes('\u0000')) return { form: 'binary', text }
  if (depth < 3 && encoded.test(text)) {
    const inner = readable(Buffer.from(text, 'base64'), depth + 1)
    return inner.form === 'binary' ? { form: 'binary', text } : packed(inner)
  }
  return { form: 'text', text }
}
const packed = ({ form, text }: Readable): Readable => ({ form: form === 'binary' ? 'binary' : 'packed', text })
