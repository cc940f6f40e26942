import Link from 'next/link'
import type { ComponentProps } from 'react'
import { classNames } from './class-names.ts'

const look = 'text-accent underline decoration-1 underline-offset-3 hover:text-accent-strong hover:decoration-2'

export const TextLink = ({ className, ...rest }: ComponentProps<typeof Link>) => (
  <Link className={classNames(look, className)} {...rest} />
)

/** To what is no page of ours: a document of the API. */
export const PlainLink = ({ className, ...rest }: ComponentProps<'a'>) => (
  <a className={classNames(look, className)} {...rest} />
)
