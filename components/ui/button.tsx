import { cva, type VariantProps } from 'class-variance-authority'
import { clsx } from 'clsx'
import type { ComponentProps } from 'react'
import { PageLink } from './page-link.tsx'

const look = cva(
  'inline-flex items-center justify-center gap-2 rounded-lg font-medium whitespace-nowrap max-[22rem]:whitespace-normal motion-safe:transition-colors duration-100 disabled:cursor-not-allowed disabled:opacity-60 aria-disabled:opacity-60',
  {
    variants: {
      tone: {
        main: 'bg-accent text-on-accent hover:bg-accent-strong',
        plain: 'border border-edge bg-raised text-ink hover:bg-sunken',
        ghost: 'text-ink hover:bg-sunken',
        quiet: 'text-quiet hover:bg-sunken',
        accent: 'text-accent hover:bg-sunken',
        danger: 'bg-red text-on-red hover:bg-red-strong',
      },
      size: { normal: 'min-h-10 px-4 py-1.5', small: 'min-h-8 px-3 py-1 text-sm', icon: 'size-8' },
    },
    defaultVariants: { tone: 'main', size: 'normal' },
  },
)
type Look = VariantProps<typeof look>

export const Button = ({ tone, size, className, type = 'button', ...rest }: ComponentProps<'button'> & Look) => (
  <button type={type} className={clsx(look({ tone, size }), className)} {...rest} />
)

export const ButtonLink = ({ tone, size, className, ...rest }: ComponentProps<typeof PageLink> & Look) => (
  <PageLink className={clsx(look({ tone, size }), className)} {...rest} />
)

/** For addresses that are not console pages, such as files of the API. */
export const PlainButtonLink = ({ tone, size, className, ...rest }: ComponentProps<'a'> & Look) => (
  <a className={clsx(look({ tone, size }), className)} {...rest} />
)
