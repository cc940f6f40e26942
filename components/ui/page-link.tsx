'use client'

import Link from 'next/link'
import { type ComponentProps, useState } from 'react'

/**
 * A link to a page of the console. It prefetches when the pointer or the focus reaches it: prefetching all visible links would send dozens of
 * requests with each view. `prefetch={false}` turns that off, too.
 */
export function PageLink({ prefetch, onPointerEnter, onFocus, ...rest }: ComponentProps<typeof Link>) {
  const [isLikely, setLikely] = useState(false)
  return (
    <Link
      {...rest}
      prefetch={prefetch !== false && isLikely ? null : false}
      onPointerEnter={(event) => {
        setLikely(true)
        onPointerEnter?.(event)
      }}
      onFocus={(event) => {
        setLikely(true)
        onFocus?.(event)
      }}
    />
  )
}
