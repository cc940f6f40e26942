/**
 * How a key lies in a folder: each segment percent-encoded (letters, digits, `-` and `_` stay), the last one with `.o`. A segment whose
 * name would be longer than a file's may be goes through folders that end in `+`. No dot and no slash of a key is one of the path.
 */
const longest = 200
const plain = /^[A-Za-z0-9_-]$/

const encoded = (character: string): string =>
  plain.test(character)
    ? character
    : [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

function piecesOf(segment: string): string[] {
  const pieces = ['']
  for (const character of segment) {
    const text = encoded(character)
    if ((pieces.at(-1) ?? '').length + text.length > longest) pieces.push('')
    pieces.push((pieces.pop() ?? '') + text)
  }
  return pieces
}

/** The folders to go through, and the file's name without its ending. */
export function placeOfKey(key: string): { folders: string[]; name: string } {
  const folders: string[] = []
  for (const segment of key.split('/')) {
    const pieces = piecesOf(segment)
    folders.push(...pieces.slice(0, -1).map((piece) => `${piece}+`), pieces.at(-1) ?? '')
  }
  return { name: folders.pop() ?? '', folders }
}

/** What a name in the folder is: an object, an upload that was not finished, a folder of a whole segment, or of its beginning. */
export type Named =
  | { kind: 'object'; text: string }
  | { kind: 'upload'; text: string; id: string }
  | { kind: 'folder'; text: string }
  | { kind: 'beginning'; text: string }

const form = /^((?:[A-Za-z0-9_-]|%[0-9A-F]{2})+)(\.o|\.[0-9a-f]{16}\.tmp|\+)?$/

/** Undefined where it is no name of ours. */
export function named(name: string): Named | undefined {
  const [, stem = '', ending = ''] = form.exec(name) ?? []
  if (stem === '') return undefined
  const text = decodeURIComponent(stem)
  if (ending === '.o') return { kind: 'object', text }
  if (ending === '+') return { kind: 'beginning', text }
  return ending === '' ? { kind: 'folder', text } : { kind: 'upload', text, id: ending.slice(1, 17) }
}
