import { join } from 'node:path'

// The settings of the root's next.config.mjs that cost or save time per request, so that like is compared with like.
/** @type {import('next').NextConfig} */
export default {
  compress: false,
  poweredByHeader: false,
  reactStrictMode: true,
  turbopack: { root: join(import.meta.dirname, '../..') },
}
