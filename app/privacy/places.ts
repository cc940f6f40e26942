import { getLocale, getTranslations } from 'next-intl/server'
import { isStore } from '#components/privacy/notice-lines.ts'
import { app } from '#lib/app-instance.ts'

export const processors = ['oidc', 'llm', 'presidio', 'posthog'] as const

/** Names the country of a store or service, from the configuration or its address; an empty string if unknown. */
export async function whereabouts() {
  const t = await getTranslations('privacy.where')
  const countries = new Intl.DisplayNames(await getLocale(), { type: 'region' })
  return (name: string): string => {
    const location = app.assessedLocations.find((one) => one.name === name)
    if (!location?.country || location.region === null) return ''
    const country = location.country === 'EU' ? t('union') : (countries.of(location.country) ?? location.country)
    return location.provider === 'own'
      ? t('inOwn', { country })
      : t('in', { country, region: `${location.region}, ${location.provider}` })
  }
}

/** What each store is in this installation: "PostgreSQL on this machine." */
export async function storeDescriptions() {
  const t = await getTranslations('privacy.where')
  const { storeLocations } = app
  const texts = {
    postgresql: t(`stores.postgresql.${storeLocations.postgresql}`),
    files: t(`stores.files.${storeLocations.files}`),
    ledger: t(`stores.ledger.${storeLocations.ledger}`),
    graph: t(`stores.graph.${storeLocations.graph}`),
    snapshot_keys: t(`stores.snapshot_keys.${storeLocations.snapshot_keys}`),
    exports: t(`stores.exports.${storeLocations.exports}`),
    cache: t(`stores.cache.${storeLocations.cache}`),
    objects: t(`stores.objects.${storeLocations.objects}`),
    checkpoints: t(`stores.checkpoints.${storeLocations.checkpoints}`),
  }
  return (store: string): string => (isStore(store) ? texts[store] : '')
}
