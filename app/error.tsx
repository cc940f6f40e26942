'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'

export default function PageFailed({ error, reset }: { error: Error & { digest?: string }; reset: () => void }) {
  const t = useTranslations('failed')
  return (
    <Page width="narrow" title={t('title')} lead={<p>{t('text')}</p>}>
      {error.digest && (
        <p className="text-sm text-quiet">
          {t('digest')} <code className="font-mono">{error.digest}</code>
        </p>
      )}
      <p>
        <Button onClick={reset}>{t('again')}</Button>
      </p>
    </Page>
  )
}
