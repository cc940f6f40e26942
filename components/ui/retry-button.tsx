'use client'

import { useRouter } from 'next/navigation'
import { useTransition } from 'react'
import { Button } from './button.tsx'

/** Refreshes the page; `asking` is the label while it loads. */
export function RetryButton({ label, asking }: { label: string; asking: string }) {
  const router = useRouter()
  const [isAsking, begin] = useTransition()
  return (
    <Button tone="plain" aria-disabled={isAsking} onClick={() => !isAsking && begin(() => router.refresh())}>
      {isAsking ? asking : label}
    </Button>
  )
}
