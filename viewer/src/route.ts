// Where the reader is: everything that a view shows is in the address, so that a link restores it.
import { useSyncExternalStore } from "react";

export interface Route {
  view: string;
  run: string;
  id: number | null;
  query: URLSearchParams;
}

export type Query = Record<string, string | number | null | string[]>;

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", run = "", view = "", id = ""] = path.split("/").map(decode);
  const query = new URLSearchParams(search);
  if (first === "debate") return { view: "debate", run, id: null, query };
  if (first === "comparison") return { view: view || "comparison", run, id: numberOf(id), query };
  if (first !== "run") return { view: first || "runs", run: "", id: null, query };
  return { view: view || "overview", run, id: numberOf(id), query };
}

function numberOf(id: string): number | null {
  return /^\d{1,9}$/.test(id) ? Number(id) : null;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(run: string, view: string, id: number | null = null, query: Query = {}): string {
  const path = `#/run/${encodeURIComponent(run)}/${view}${id === null ? "" : `/${id}`}`;
  return withQuery(path, query);
}

export function compared(of: string, person: number | null = null, query: Query = {}): string {
  return withQuery(`#/comparison/${encodeURIComponent(of)}${person === null ? "" : `/person/${person}`}`, query);
}

export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((each) => parameters.append(name, each));
    else if (value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

// A changed control replaces the address: "back" leads to the view before, not through every place of a slider.
export function change(query: Query): void {
  const [path = "", search = ""] = location.hash.split("?", 2);
  const parameters = new URLSearchParams(search);
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === "") parameters.delete(name);
    else parameters.set(name, String(value));
  }
  replace(path, parameters.toString());
}

// The same for a name that may stand there more than once.
export function changeAll(name: string, values: string[]): void {
  const [path = "", search = ""] = location.hash.split("?", 2);
  const parameters = new URLSearchParams(search);
  parameters.delete(name);
  for (const value of values) parameters.append(name, value);
  replace(path, parameters.toString());
}

function replace(path: string, text: string): void {
  history.replaceState(null, "", `${path || "#/runs"}${text ? `?${text}` : ""}`);
  window.dispatchEvent(new Event("townsquare:route"));
}

export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, () => location.hash));
}

function subscribe(notice: () => void): () => void {
  window.addEventListener("hashchange", notice);
  window.addEventListener("townsquare:route", notice);
  return () => {
    window.removeEventListener("hashchange", notice);
    window.removeEventListener("townsquare:route", notice);
  };
}
