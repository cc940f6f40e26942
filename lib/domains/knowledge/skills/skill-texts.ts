import type { WeightedText } from '../search/vector.ts'
import type { FrontMatter } from './rules.ts'

/** All searchable texts of a skill: name and description first, then tags and tools, then its Markdown and files. */
export const skillTexts = (
  { name, description, tags, allowed_tools, author }: FrontMatter,
  body: string,
  files: readonly { path: string; content: string }[],
): WeightedText[] => [
  { weight: 'A', text: name },
  { weight: 'A', text: description },
  ...[...tags, ...(allowed_tools ?? [])].map((text) => ({ weight: 'B' as const, text })),
  ...(author === null ? [] : [{ weight: 'D' as const, text: author }]),
  { weight: 'D', text: body },
  ...files.flatMap(({ path, content }) => [
    { weight: 'D' as const, text: path },
    { weight: 'D' as const, text: content },
  ]),
]
