const repeat = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)

/** Worst-case inputs of any size for the decoders and readings of the text layer. */
export const worstTexts: readonly { name: string; make: (size: number) => string }[] = [
  { name: 'strings without an end', make: (size) => repeat('"<', size) },
  { name: 'parts of strings', make: (size) => repeat("'~", size) },
  { name: 'lines of one sign', make: (size) => repeat('!\n', size) },
  { name: 'backslashes', make: (size) => repeat('!\\', size) },
  { name: 'quoted-printable', make: (size) => repeat('=3D', size) },
  { name: 'percent-encoding', make: (size) => repeat('%20', size) },
  { name: 'character references', make: (size) => repeat('&#105;', size) },
  { name: 'open brackets', make: (size) => repeat('[', size) },
  { name: 'open braces', make: (size) => repeat('{"a":', size) },
  { name: 'open tags', make: (size) => repeat('<a x="', size) },
  { name: 'apostrophes', make: (size) => repeat("a''", size) },
  { name: 'Base64 in lines', make: (size) => repeat('QUJDREVGR0hJSktMTU5P\n', size) },
  { name: 'spelled words', make: (size) => repeat('f-e-v-e-r ', size) },
  { name: 'rows of a table', make: (size) => repeat('a,b,c\n', size) },
  { name: 'times', make: (size) => repeat('10:15 x\n', size) },
  { name: 'notes without an end', make: (size) => repeat('【', size) },
  { name: 'bytes of RTF without a document', make: (size) => repeat("\\'e9", size) },
  { name: 'viramas with joiners', make: (size) => repeat('क्\u200d', size) },
]
