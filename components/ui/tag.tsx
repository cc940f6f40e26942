import type { ComponentProps } from 'react'
import { Badge, type BadgeTone } from './badge.tsx'

const tones = { plain: 'neutral', accent: 'progress', amber: 'warning', red: 'danger' } as const satisfies Record<
  string,
  BadgeTone
>
export type TagTone = keyof typeof tones

/** A `Badge` with the earlier names of the tones. Use `Badge` in new code. */
export const Tag = ({ tone = 'plain', ...rest }: Omit<ComponentProps<typeof Badge>, 'tone'> & { tone?: TagTone }) => (
  <Badge tone={tones[tone]} {...rest} />
)
