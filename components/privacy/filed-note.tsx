'use client'

import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { FiledRequestAnswer } from './filing.ts'

/** Confirms a filed request and links to it. */
export function FiledNote({
  filed,
  title,
  text,
}: {
  filed: FiledRequestAnswer
  title: string
  text?: string | undefined
}) {
  const t = useTranslations('myPrivacy.filed')
  return (
    <Alert tone="done" title={filed.data.state === 'received' ? t('link') : title} isLive>
      {text !== undefined && filed.data.state !== 'received' && <p>{text}</p>}
      {filed.joined.length > 0 && <p>{t('joined')}</p>}
      <p>
        <TextLink href={`/settings/privacy/requests/${filed.data.id}`}>{t('follow')}</TextLink>
      </p>
    </Alert>
  )
}
