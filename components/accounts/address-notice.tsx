'use client'

import { useTranslations } from 'next-intl'
import { useSyncExternalStore } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'

const never = () => () => {}

interface AddressNoticeProps {
  /** The configured origin. */
  origin: string
  /** The internal path to open after signing in. */
  next: string
}

/** Links to the configured address if this page was opened at another one: the API refuses every change from there. */
export function AddressNotice({ origin, next }: AddressNoticeProps) {
  const t = useTranslations('signIn.elsewhere')
  const here = useSyncExternalStore(
    never,
    () => window.location.origin,
    () => origin,
  )
  if (here === origin) return null
  const href = `${origin}/sign-in?callbackUrl=${encodeURIComponent(next)}`
  return (
    <Alert tone="warning" title={t('title')} isLive>
      <p>{t.rich('text', { link: () => <PlainLink href={href}>{origin}</PlainLink> })}</p>
    </Alert>
  )
}
