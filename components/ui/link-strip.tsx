'use client'

import { clsx } from 'clsx'
import { usePathname } from 'next/navigation'
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { scrolledTo } from './scrolled-to.ts'

interface LinkStripProps {
  label: string
  className: string
  /** The address of the current link, if it depends on more than the path of the page. */
  current?: string | undefined
  children: ReactNode
}
/**
 * A row of links that scrolls sideways on narrow screens. The current link is in view on load and after each change. The row jumps there
 * without an animation, because readers may have asked for reduced motion. The page itself does not scroll.
 */
export function LinkStrip({ label, className, current, children }: LinkStripProps) {
  const strip = useRef<HTMLElement>(null)
  const path = usePathname()
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again when another link becomes the current one
  useLayoutEffect(() => {
    const row = strip.current
    const link = row?.querySelector<HTMLElement>('[aria-current]')
    if (!row || !link) return
    const [outer, inner] = [row.getBoundingClientRect(), link.getBoundingClientRect()]
    const left = scrolledTo(
      { start: inner.left - outer.left + row.scrollLeft, width: inner.width },
      { left: row.scrollLeft, width: row.clientWidth },
    )
    if (left !== row.scrollLeft) row.scrollTo({ left, behavior: 'instant' })
  }, [path, current])
  return (
    <nav ref={strip} aria-label={label} className={clsx('fading flex overflow-x-auto', className)}>
      {children}
    </nav>
  )
}
