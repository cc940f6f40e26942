'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

/** Tells the server the browser's time zone, once, where it differs from the one that the page was written in. */
export function ZoneKeeper({ zone, keep }: { zone: string; keep: (zone: string) => Promise<void> }) {
  const router = useRouter()
  useEffect(() => {
    const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
    if (own && own !== zone) keep(own).then(() => router.refresh())
  }, [zone, keep, router])
  return null
}
