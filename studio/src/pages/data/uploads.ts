// Files on their way to the server: uploaded one after another, listed, removed.
import { ApiError, api, ask, type Schemas } from '../../lib/api/client';
import { signOut, token } from '../../lib/session';

export type Kept = Schemas['UploadOutput'];
export type Inferred = Schemas['InferOutput'];
export type LoadOutput = Schemas['LoadFilesOutput'];

export const ENDINGS = '.csv,.tsv,.json,.jsonl,.ndjson,.gz,.zst,.bz2,.lz4,.parquet,.orc,.xlsx,.xlsm';

/** The name a file is uploaded under: endings are known in lower case. */
export function uploadName(file: File): string {
  const dot = file.name.indexOf('.');
  return dot < 0 ? file.name : file.name.slice(0, dot) + file.name.slice(dot).toLowerCase();
}

export async function listFiles(graph: string, branch: string, signal: AbortSignal): Promise<Kept[]> {
  return (await ask(api.GET('/graphs/{graph_id}/uploads', { params: { path: { graph_id: graph }, query: { branch } }, signal }))).files;
}

export async function removeFile(graph: string, branch: string, file: string): Promise<void> {
  await ask(api.DELETE('/graphs/{graph_id}/uploads/{file}', { params: { path: { graph_id: graph, file }, query: { branch } } }));
}

/** Refuses what the browser cannot read, such as a folder that was dropped. */
export async function readable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new ApiError(400, `${file.name} cannot be read. Drop files, not folders; and if it is a file, look whether it is still there.`, undefined, {});
  }
}

/** Sends one file; `told` gets the part that has been sent. (`fetch` does not tell, so this is an XMLHttpRequest.) */
export function upload(graph: string, branch: string, file: File, told: (part: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const place = `/graphs/${encodeURIComponent(graph)}/uploads/${encodeURIComponent(uploadName(file))}?branch=${encodeURIComponent(branch)}`;
    request.open('PUT', place);
    const value = token.get();
    if (value) request.setRequestHeader('Authorization', `Bearer ${value}`);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = (event) => event.lengthComputable && told(event.loaded / event.total);
    request.onerror = () => reject(new ApiError(0, 'The server cannot be reached.', undefined, {}));
    request.onload = () => {
      if (request.status === 401 && value) signOut('The server does not accept this token any more. Sign in again.');
      if (request.status < 300) return resolve();
      const found = parsed(request.responseText);
      reject(new ApiError(request.status, typeof found.error === 'string' ? found.error : `The server answered ${request.status}.`, undefined, found));
    };
    request.send(file);
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

export function infer(graph: string, branch: string, files: string[], signal: AbortSignal): Promise<Inferred> {
  return ask(api.POST('/graphs/{graph_id}/infer', { params: { path: { graph_id: graph } }, body: { files, branch }, signal }));
}
