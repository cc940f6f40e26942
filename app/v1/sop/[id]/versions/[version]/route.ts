import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.sops.version)
export const DELETE = route(app.sops.eraseVersion)
