import { app, route } from '#lib/app.ts'

export const GET = route(app.sops.version)
export const DELETE = route(app.sops.eraseVersion)
