'use client'

import { Check, Link2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'

/** Copies the address of a page of this installation; of the current one without a path. */
function useLinkCopy(path: string | undefined) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () =>
    navigator.clipboard.writeText(path === undefined ? location.href : `${location.origin}${path}`).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return { isCopied, copy }
}

/** A button that copies a link and says so. */
export function CopyLink({ path }: { path?: string }) {
  const t = useTranslations('common')
  const { isCopied, copy } = useLinkCopy(path)
  const Icon = isCopied ? Check : Link2
  return (
    <Button tone="plain" size="small" className="print:hidden" onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
      <span role="status">{t(isCopied ? 'linkCopied' : 'copyLink')}</span>
    </Button>
  )
}

/** The same as an icon, in a row of a list. */
export function LinkCopy({ path, what }: { path: string; what: string }) {
  const { isCopied, copy } = useLinkCopy(path)
  const Icon = isCopied ? Check : Link2
  return (
    <Button tone="quiet" size="icon" aria-label={what} onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
    </Button>
  )
}
