import { cva, type VariantProps } from 'class-variance-authority'
import { clsx } from 'clsx'
import type { ComponentProps } from 'react'

const look = cva(
  'inline-flex items-center gap-1 rounded-small border px-1.5 text-[0.8125rem] leading-5.5 whitespace-nowrap',
  {
    variants: {
      tone: {
        plain: 'border-line bg-sunken text-quiet',
        accent: 'border-line bg-accent-wash text-accent',
        amber: 'border-amber/40 bg-amber-wash text-amber',
        red: 'border-red/40 bg-red-wash text-red',
      },
    },
    defaultVariants: { tone: 'plain' },
  },
)
export type TagTone = NonNullable<VariantProps<typeof look>['tone']>

/** A state in one or two words. Colour only repeats the words. */
export const Tag = ({ tone, className, ...rest }: ComponentProps<'span'> & VariantProps<typeof look>) => (
  <span className={clsx(look({ tone }), className)} {...rest} />
)
