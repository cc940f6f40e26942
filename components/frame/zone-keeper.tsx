'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

/** Sends the time zone of the browser to the server if the page was rendered in another one. */
export function ZoneKeeper({ zone, keep }: { zone: string; keep: (zone: string) => Promise<void> }) {
  const router = useRouter()
  useEffect(() => {
    const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
    if (own && own !== zone) keep(own).then(() => router.refresh())
  }, [zone, keep, router])
  return null
}
