'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'

interface PageFailedProps {
  error: Error & { digest?: string }
  /** Asks the server for the page again. `reset` would only show the failed answer again. */
  retry: () => void
}

export default function PageFailed({ error, retry }: PageFailedProps) {
  const t = useTranslations('failed')
  return (
    <Page width="narrow" title={t('title')} lead={<p>{t('text')}</p>}>
      {error.digest && (
        <p className="text-sm text-quiet">
          {t('digest')} <code className="font-mono">{error.digest}</code>
        </p>
      )}
      <p>
        <Button onClick={retry}>{t('again')}</Button>
      </p>
    </Page>
  )
}
