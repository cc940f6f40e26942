'use client'

import { clsx } from 'clsx'
import { usePathname } from 'next/navigation'
import type { ReactNode } from 'react'
import { PageLink } from '#components/ui/page-link.tsx'

/** A navigation link that marks itself as current. */
export function NavLink({ href, className, children }: { href: string; className?: string; children: ReactNode }) {
  const path = usePathname()
  const isHere = path === href || path.startsWith(`${href}/`)
  return (
    <PageLink
      href={href}
      aria-current={isHere ? (path === href ? 'page' : 'true') : undefined}
      className={clsx(
        'flex min-h-9 items-center gap-2 rounded-small px-2.5 whitespace-nowrap hover:bg-sunken',
        isHere ? 'font-medium text-ink' : 'text-quiet',
        className,
      )}
    >
      {children}
    </PageLink>
  )
}
