import { clsx } from 'clsx'
import type { ComponentProps } from 'react'
import { PageLink } from './page-link.tsx'

const look = 'decoration-1 underline-offset-3 hover:text-accent-strong hover:decoration-2'
/** Every link in a text is underlined. `quiet` is for the trail above a page. */
const tones = { accent: 'text-accent underline', quiet: 'text-quiet hover:underline' }

interface TextLinkProps extends ComponentProps<typeof PageLink> {
  tone?: keyof typeof tones
}
export const TextLink = ({ tone = 'accent', className, ...rest }: TextLinkProps) => (
  <PageLink className={clsx(look, tones[tone], className)} {...rest} />
)

/** For addresses that are not console pages, such as documents of the API. */
export const PlainLink = ({ className, ...rest }: ComponentProps<'a'>) => (
  <a className={clsx(look, tones.accent, className)} {...rest} />
)
