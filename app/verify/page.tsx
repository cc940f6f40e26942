import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { Folded } from '#components/receipts/folded.tsx'
import { Page } from '#components/ui/page.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Verifier } from '#components/verify/verifier.tsx'
import { publicUrl, readEnv } from '#lib/config/env.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('verify'))('name') })

export default async function VerifyPage() {
  const t = await getTranslations('verify')
  return (
    <Messages of={['verify', 'receipt']}>
      <Page title={t('name')} lead={<p>{t('lead')}</p>}>
        <Verifier origin={publicUrl(readEnv())} />
        <Folded title={t('how.title')}>
          <p>{t('how.text')}</p>
          <p>{t.rich('how.pin', { link: (text) => <PlainLink href="/.well-known/jwks.json">{text}</PlainLink> })}</p>
          <p>{t.rich('how.cli', { code: (text) => <code className="font-mono">{text}</code> })}</p>
        </Folded>
      </Page>
    </Messages>
  )
}
