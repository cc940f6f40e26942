import { paths } from './cluster.ts'
import { homeOf } from './server-account.ts'

/** Whether the URL points to the embedded database of this data folder and not to an external server. */
export const isEmbedded = (url: string | undefined, dataDir: string): boolean =>
  url === undefined || new URL(url).searchParams.get('host') === paths(homeOf(dataDir)).run
